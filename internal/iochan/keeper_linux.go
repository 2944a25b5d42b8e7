package iochan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// keeperSocket is the descriptor that a keeper process finds its daemon at.
const keeperSocket = 3

// Messages to the keeper: a letter and a connection's number.
const (
	keeperAdd     = 'a' // with the connection's files: hold them
	keeperDrop    = 'd' // close them
	keeperInput   = 'i' // close stdin's: the program is to see its end
	keeperRelease = 'r' // the daemon lets go: read them to their end
)

const keeperMessage = 9

// keeperPatienceMs is how long a full socket is waited for: a keeper only ever has messages to read.
const keeperPatienceMs = 1000

// Keeper holds a second reference to the files of every connection in a process of its own, and reads
// none of them as long as the daemon lives. When the daemon dies, or lets go of a program that runs on, it
// reads the output to its end and throws it away. Without it a program would be killed by SIGPIPE at its next
// line, or by SIGHUP when its terminal goes. Safe for concurrent use.
//
// A keeper ends when its daemon has ended and every file it holds has.
type Keeper struct {
	command []string

	mu      sync.Mutex // held over a send, which waits for a moment at most
	socket  int        // -1: no process
	process *os.Process
	next    uint64
	held    map[*Conn]uint64
	reaped  sync.WaitGroup
}

// NewKeeper returns a keeper whose process is started by command when it is first needed. The
// command must call RunKeeper.
func NewKeeper(command []string) *Keeper {
	return &Keeper{command: command, socket: -1, held: map[*Conn]uint64{}}
}

// Add makes the keeper hold c's files.
func (k *Keeper) Add(c *Conn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.socket < 0 {
		if err := k.startLocked(); err != nil {
			return fmt.Errorf("start keeper: %w", err)
		}
	}
	fds, err := c.kept(func() { k.endInput(c) })
	if err != nil {
		return fmt.Errorf("give files to keeper: %w", err)
	}
	k.next++
	if err := k.sendLocked(keeperAdd, k.next, unix.UnixRights(fds...)); err != nil {
		return fmt.Errorf("give files to keeper: %w", err)
	}
	k.held[c] = k.next
	return nil
}

// Start starts the process ahead of the first Add.
func (k *Keeper) Start() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.socket >= 0 {
		return nil
	}
	return k.startLocked()
}

// Drop makes the keeper close c's files. Call it before c is closed for good.
func (k *Keeper) Drop(c *Conn) { k.end(c, keeperDrop) }

// Release makes the keeper read c's output to its end from now on: the program runs on without us.
func (k *Keeper) Release(c *Conn) { k.end(c, keeperRelease) }

// endInput makes the keeper close its end of c's stdin. It runs under Conn.inMu.
func (k *Keeper) endInput(c *Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, ok := k.held[c]; ok {
		k.sendLocked(keeperInput, id, nil)
	}
}

func (k *Keeper) end(c *Conn, op byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, ok := k.held[c]
	if !ok {
		return
	}
	delete(k.held, c)
	k.sendLocked(op, id, nil) // one that died holds nothing any more
}

// Close lets the keeper go. It ends at once unless a program that was released still runs.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.stopLocked()
	clear(k.held)
	k.mu.Unlock()
	return nil
}

func (k *Keeper) stopLocked() {
	if k.socket >= 0 {
		unix.Close(k.socket)
		k.socket = -1
	}
}

func (k *Keeper) startLocked() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "keeper")
	defer theirs.Close()
	cmd := exec.Command(k.command[0], k.command[1:]...)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs} // becomes keeperSocket
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		unix.Close(pair[0])
		return err
	}
	k.socket, k.process = pair[0], cmd.Process
	k.reaped.Go(func() { cmd.Wait() }) // ends when the process does
	return nil
}

func (k *Keeper) sendLocked(op byte, id uint64, rights []byte) error {
	if k.socket < 0 {
		return io.ErrClosedPipe
	}
	msg := binary.LittleEndian.AppendUint64([]byte{op}, id)
	err := unix.Sendmsg(k.socket, msg, rights, nil, unix.MSG_NOSIGNAL)
	if err == unix.EAGAIN { // hundreds of messages wait
		unix.Poll([]unix.PollFd{{Fd: int32(k.socket), Events: unix.POLLOUT}}, keeperPatienceMs)
		err = unix.Sendmsg(k.socket, msg, rights, nil, unix.MSG_NOSIGNAL)
	}
	if err != nil {
		// It died or hangs; the next Add starts another. One that lives must not take us for dead and read.
		k.process.Kill()
		k.stopLocked()
		clear(k.held)
	}
	return err
}

// kept lists the descriptors that keep a program alive: what it writes to, and its stdin while that is
// open. ended is called when stdin ends after this call.
func (c *Conn) kept(ended func()) (fds []int, err error) {
	add := func(f *os.File) error {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		return raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
	}
	for _, s := range c.streams {
		if err := add(s.file); err != nil {
			return nil, err
		}
	}
	if in := c.watchInput(ended); in != nil {
		if err := add(in); err != nil && !errors.Is(err, os.ErrClosed) { // it ended just now, with its text
			return nil, err
		}
	}
	return fds, nil
}

// keeperConn is one connection's files in the keeper's process. Its outputs come first.
type keeperConn struct {
	files   []int
	outputs int
	drain   bool
}

// RunKeeper is the keeper's process. It returns when there is nothing left to hold.
func RunKeeper() error {
	for fd := range 3 { // the files of whoever started the daemon are not ours to keep
		null, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", os.DevNull, err)
		}
		if err := unix.Dup3(null, fd, 0); err != nil {
			return fmt.Errorf("replace file %d: %w", fd, err)
		}
		unix.Close(null)
	}
	unix.CloseOnExec(keeperSocket)
	p := &keeperProcess{conns: map[uint64]*keeperConn{}, daemon: true, buf: make([]byte, MaxChunk)}
	for p.daemon || len(p.conns) > 0 {
		if err := p.step(); err != nil {
			return fmt.Errorf("keep files: %w", err)
		}
	}
	return nil
}

type keeperProcess struct {
	conns  map[uint64]*keeperConn
	daemon bool // it lives
	buf    []byte
}

// step waits for the daemon or for output to throw away, and handles what came.
func (p *keeperProcess) step() error {
	var polls []unix.PollFd
	var owners []uint64
	if p.daemon {
		polls, owners = append(polls, unix.PollFd{Fd: keeperSocket, Events: unix.POLLIN}), append(owners, 0)
	}
	for id, c := range p.conns {
		if c.drain {
			for _, fd := range c.files[:c.outputs] {
				polls, owners = append(polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}), append(owners, id)
			}
		}
	}
	if _, err := unix.Poll(polls, -1); err != nil {
		if err == unix.EINTR {
			return nil
		}
		return err
	}
	for i, poll := range polls {
		switch {
		case poll.Revents == 0:
		case owners[i] == 0:
			p.message()
		default:
			p.discard(owners[i], int(poll.Fd))
		}
	}
	return nil
}

// message takes one message of the daemon, or its end.
func (p *keeperProcess) message() {
	msg, oob := make([]byte, keeperMessage), make([]byte, unix.CmsgSpace(4*4))
	n, oobn, _, _, err := unix.Recvmsg(keeperSocket, msg, oob, unix.MSG_CMSG_CLOEXEC)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n == 0 {
		p.daemon = false
		unix.Close(keeperSocket)
		for _, c := range p.conns {
			c.drain = true
		}
		return
	}
	if n != keeperMessage {
		return
	}
	id := binary.LittleEndian.Uint64(msg[1:])
	switch msg[0] {
	case keeperAdd:
		p.conns[id] = &keeperConn{files: rights(oob[:oobn])}
		p.conns[id].outputs = countOutputs(p.conns[id].files)
	case keeperDrop:
		p.close(id)
	case keeperInput:
		if c := p.conns[id]; c != nil {
			for _, fd := range c.files[c.outputs:] {
				unix.Close(fd)
			}
			c.files = c.files[:c.outputs]
		}
	case keeperRelease:
		if c := p.conns[id]; c != nil {
			c.drain = true
		}
	}
	if c := p.conns[id]; c != nil && c.outputs == 0 {
		p.close(id)
	}
}

// countOutputs returns how many of files, from the first, can be read: the last may be the end of stdin that is
// written.
func countOutputs(files []int) int {
	for i, fd := range files {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE == unix.O_WRONLY {
			return i
		}
	}
	return len(files)
}

func rights(oob []byte) (fds []int) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range msgs {
		if got, err := unix.ParseUnixRights(&msgs[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}

// discard reads from one output; at its end it is closed, and with the last one all of its connection.
func (p *keeperProcess) discard(id uint64, fd int) {
	n, err := unix.Read(fd, p.buf)
	if n > 0 || err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	c := p.conns[id]
	if c == nil {
		return
	}
	for i, have := range c.files[:c.outputs] {
		if have == fd {
			unix.Close(fd)
			c.files = append(c.files[:i], c.files[i+1:]...)
			c.outputs--
			break
		}
	}
	if c.outputs == 0 {
		p.close(id)
	}
}

func (p *keeperProcess) close(id uint64) {
	if c := p.conns[id]; c != nil {
		for _, fd := range c.files {
			unix.Close(fd)
		}
		delete(p.conns, id)
	}
}
