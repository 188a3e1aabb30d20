package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// When a command ends, all its processes end, even those that started a new session and ignore
// signals.
func TestRun_EndsAllProcesses(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	const start = `for i in 1; do setsid sh -c 'trap "" TERM; echo $$ > told; exec sleep 600' & done; read x < go; `
	for name, c := range map[string]struct {
		text  string
		limit time.Duration
		stop  bool
		want  error
	}{
		"by itself":                   {start, time.Minute, false, nil},
		"when the command is stopped": {start + "sleep 600", time.Minute, true, context.Canceled},
		"when the time is over":       {start + "sleep 600", time.Second, false, ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRepositoryHome(t)
			told, goOn := filepath.Join(b.docs, "told"), filepath.Join(b.docs, "go")
			if err := errors.Join(syscall.Mkfifo(told, 0o600), syscall.Mkfifo(goOn, 0o600)); err != nil {
				t.Skip(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pid := make(chan string, 1)
			go func() {
				text, _ := os.ReadFile(told)
				_ = os.WriteFile(goOn, []byte("go\n"), 0o600)
				if c.stop {
					cancel()
				}
				pid <- strings.TrimSpace(string(text))
			}()
			_, err := b.newRunner(t, Off).Run(ctx, b.judgeText(c.text).Plan, c.limit, func(int64) {})
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			text, err := os.ReadFile("/proc/" + <-pid + "/stat")
			if err == nil && !strings.Contains(string(text), ") Z ") {
				t.Errorf("the process still exists: %s", text)
			}
		})
	}
}
