package osrun_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hob/platform/host/osrun"
)

// TestHelperOutput is the program that the tests of Output run.
func TestHelperOutput(t *testing.T) {
	switch os.Getenv("OSRUN_OUTPUT") {
	case "":
		t.Skip("runs within TestOutput")
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "fail":
		_, _ = os.Stderr.WriteString("it hurts here\n")
		os.Exit(3)
	case "flood":
		for range 200 {
			_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), 64<<10))
		}
	case "hang":
		time.Sleep(time.Hour) // the test kills this process earlier
	}
	os.Exit(0)
}

func helperCommand(mode string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperOutput$")
	cmd.Env = append(os.Environ(), "OSRUN_OUTPUT="+mode)
	return cmd
}

func TestOutput(t *testing.T) {
	in := []byte(strings.Repeat("what goes in ", 20_000))
	if out, err := osrun.Output(t.Context(), helperCommand("echo"), in); err != nil || !bytes.Equal(out, in) {
		t.Errorf("echo: %d bytes, %v; want the %d that went in", len(out), err, len(in))
	}
	_, err := osrun.Output(t.Context(), helperCommand("fail"), in)
	if f, ok := errors.AsType[*osrun.Failure](err); !ok || f.Said != "it hurts here" || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("fail: %v", err)
	}
	if out, err := osrun.Output(t.Context(), helperCommand("flood"), nil); err != nil || len(out) != 4<<20 {
		t.Errorf("flood: %d bytes, %v; want the first 4 MiB and no error", len(out), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := osrun.Output(ctx, helperCommand("hang"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hang: %v", err)
	}
}
