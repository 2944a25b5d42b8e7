// Command hunts seeds bugs into programs from registries and finds them by questions alone: a script that knows
// neither program nor bug launches it with a passing and a failing input, asks views of debug_query with their
// defaults, at most 8 questions and 10 KB of answers, and ranks suspects. A bug is found where the function that
// was changed is among the first three.
//
//	hunts [-only NAME] [-work DIR] [-write FILE] [-check]
//
// The corpus is below corpus: a folder for each program says where it comes from and how it is built, and each of its
// folders is a bug: a patch, two inputs, and what was changed. Every bug is proved before it is hunted: the program as
// it came and the changed one write the same for the passing input, and not for the failing one. -check only does that.
//
// It stands outside the data path and uses the strobe binary as an agent would.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	only := flag.String("only", "", "bugs whose PROGRAM/NAME contain this")
	work := flag.String("work", "", "where programs are fetched and built (default out/hunts)")
	write := flag.String("write", "", "file for the transcript")
	check := flag.Bool("check", false, "prove the bugs, hunt none")
	flag.Parse()
	if err := run(*only, *work, *write, *check); err != nil {
		fmt.Fprintln(os.Stderr, "hunts:", err)
		os.Exit(2)
	}
}

func run(only, work, write string, check bool) (err error) {
	if work == "" {
		work = "out/hunts"
	}
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	bugs, err := loadCorpus("hunts/corpus")
	if err != nil {
		return err
	}
	h, err := newHunter(work)
	if err != nil {
		return err
	}
	defer h.close()
	var transcript strings.Builder
	found, hunted := 0, 0
	for _, b := range bugs {
		if !strings.Contains(b.id(), only) {
			continue
		}
		seeded, err := b.build(work)
		if err != nil {
			return fmt.Errorf("%s: %w", b.id(), err)
		}
		if check {
			fmt.Printf("%s: proved\n", b.id())
			continue
		}
		r, err := h.hunt(b, seeded)
		if err != nil {
			return fmt.Errorf("%s: %w", b.id(), err)
		}
		hunted++
		if r.place > 0 && r.place <= shown {
			found++
		}
		fmt.Println(r.row())
		flush(write, transcript.String()+r.transcript())
		transcript.WriteString(r.transcript())
	}
	fmt.Printf("found %d of %d\n", found, hunted)
	return nil
}

// flush keeps what there is of the transcript.
func flush(path, text string) {
	if path != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "hunts: write transcript:", err)
		}
	}
}
