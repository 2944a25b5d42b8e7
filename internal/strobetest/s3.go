package strobetest

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// S3 is a store that speaks S3's protocol, on this machine.
type S3 struct {
	Endpoint, ID, Secret string
	python               string
}

// S3Packages are what StartS3's store is made of: packages of PyPI.
var S3Packages = []string{"moto[s3,iam]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5", "boto3==1.44.8"}

// s3Script serves with one user who may do everything in the bucket, and from then on checks every signature, if that
// is wanted, with Amazon's own code.
const s3Script = `
import json, os, sys
if sys.argv[2] == "true": os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "root"
os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
import boto3
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
url = "http://%s:%d" % (host, port)
iam = boto3.client("iam", endpoint_url=url)
boto3.client("s3", endpoint_url=url).create_bucket(Bucket=sys.argv[1])
iam.create_user(UserName="u")
key = iam.create_access_key(UserName="u")["AccessKey"]
iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
print(json.dumps({"Endpoint": url, "ID": key["AccessKeyId"], "Secret": key["SecretAccessKey"]}), flush=True)
sys.stdin.read()
`

// StartS3 starts one with an empty bucket. It ends with the test. One that checks signatures takes none in addresses.
func StartS3(t testing.TB, bucket string, checks bool) *S3 {
	t.Helper()
	s := &S3{python: PythonWith(t, S3Packages...)}
	cmd := exec.Command(s.python, "-c", s3Script, bucket, strconv.FormatBool(checks))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // was killed
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if json.Unmarshal(lines.Bytes(), s) == nil && s.Endpoint != "" {
			return s
		}
	}
	t.Fatal("the store did not start")
	return nil
}

// Getenv gives the variables by which programs reach the store.
func (s *S3) Getenv(name string) string {
	return map[string]string{"AWS_ENDPOINT_URL": s.Endpoint, "AWS_ACCESS_KEY_ID": s.ID, "AWS_SECRET_ACCESS_KEY": s.Secret,
		"AWS_REGION": "us-east-1"}[name]
}

// StartVersity starts versitygw, a store for production whose code shares nothing with S3Packages, with an empty
// bucket. It is built from the Go module proxy, which takes minutes.
func StartVersity(t testing.TB, bucket string) *S3 {
	t.Helper()
	const module = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	bin := GoCommand(t, module)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // it is free now
	cmd := exec.Command(bin, "--port", address, "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=root", "ROOT_SECRET_KEY=secretsecret")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // was killed
	})
	Eventually(t, time.Minute, "versitygw serves", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return &S3{Endpoint: "http://" + address, ID: "root", Secret: "secretsecret"}
}
