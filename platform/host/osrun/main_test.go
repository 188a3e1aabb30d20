package osrun_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain also acts as osascript and powershell.exe: a test starts its own binary with their
// arguments, and the script contains the instructions.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "linger":
		time.Sleep(time.Hour) // the test kills this process
	case len(os.Args) == 5 && os.Args[1] == "-l" && os.Args[2] == "JavaScript" && os.Args[3] == "-e":
		runEngine(os.Args[4])
	case len(os.Args) == 3 && os.Args[1] == "-e":
		runEngine(os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "-NoLogo":
		runEngine(decodeScript(os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

// runEngine executes the instruction in the line "mode: ..." of the script and exits. It uses
// syscall.Exit, because os.Exit takes a second with the race detector.
func runEngine(script string) {
	_, mode, _ := strings.Cut(script, "mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		syscall.Exit(9)
	}
	verb, rest, _ := strings.Cut(strings.TrimSpace(mode), " ")
	switch verb {
	case "tell": // reports the arguments, the environment and the input
		out, err := json.Marshal(map[string]any{"ok": true, "data": map[string]any{"args": os.Args[1:], "env": os.Environ(), "in": string(in)}})
		if err != nil {
			syscall.Exit(9)
		}
		_, _ = os.Stdout.Write([]byte("a profile prints this\r\n\r\n--hob--\r\n"))
		_, _ = os.Stdout.Write(out)
	case "say":
		_, _ = fmt.Println(rest)
	case "die":
		_, _ = os.Stderr.WriteString(strings.ReplaceAll(rest, `\n`, "\n"))
		syscall.Exit(1)
	case "flood":
		for range 16 << 10 { // 1 GiB
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
				break
			}
		}
	case "hang":
		time.Sleep(time.Hour) // the test kills this process earlier
	case "fork": // starts a child that leaves the process group and keeps the pipes open
		child := exec.Command(os.Args[0], "linger")
		child.Stdout, child.Stderr, child.Stdin = os.Stdout, os.Stderr, os.Stdin
		leaveTree(child)
		if child.Start() != nil {
			syscall.Exit(9)
		}
		_, _ = fmt.Printf(`{"ok":true,"data":{"pid":%d}}`, child.Process.Pid)
	}
	syscall.Exit(0)
}
