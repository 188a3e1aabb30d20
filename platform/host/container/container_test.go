//go:build unix

package container_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/host/container"
)

// fakeEngine is a program that records its arguments and answers like an engine.
const fakeEngine = `#!/bin/sh
echo "$@" >> "$(dirname "$0")/log"
case "$1" in
info) [ ! -e "$(dirname "$0")/down" ] || { echo "Cannot connect to the daemon" >&2; exit 1; } ;;
image) [ "$3" = here ] || { echo "No such image" >&2; exit 1; } ;;
ps) echo left1; echo left2 ;;
run) case "$*" in *hang*) exec sleep 600 ;; *fail*) echo "it broke" >&2; exit 3 ;; *) cat; env | grep -c SECRET_OF_TEST >&2; exit 0 ;; esac ;;
esac
`

func newBox(t *testing.T, change func(*container.Options)) (b *container.Box, log func() string, dir string) {
	t.Helper()
	dir = t.TempDir()
	engine := filepath.Join(dir, "docker")
	if err := os.WriteFile(engine, []byte(fakeEngine), 0o700); err != nil {
		t.Fatal(err)
	}
	o := container.Options{
		Engine: engine, Image: "here", Home: "h1", Name: "clerk", Program: "/opt/hob", Workspace: "/work/clerk", Memory: "128m", CPUs: 0.5, PIDs: 32,
	}
	if change != nil {
		change(&o)
	}
	b, err := container.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b, func() string {
		text, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}, dir
}

func TestRun_Arguments(t *testing.T) {
	t.Setenv("SECRET_OF_TEST", "x")
	b, log, _ := newBox(t, nil)
	out, err := b.Run(t.Context(), []byte(`{"tool":"x"}`), "agent-run")
	if err != nil || string(out) != `{"tool":"x"}` {
		t.Fatalf("Run = %q %v", out, err)
	}
	lines := strings.Split(strings.TrimSpace(log()), "\n")
	words := strings.Fields(lines[len(lines)-1])
	for _, want := range []string{
		"--rm", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--memory 128m", "--cpus 0.5", "--pids-limit 32",
		"--network none", "--volume /opt/hob:/hob:ro", "--volume /work/clerk:/work/clerk:rw", "--label hob.agent=clerk", "--label hob.home=h1",
		"--user ", "--pull=never", "--entrypoint /hob here agent-run",
	} {
		if !strings.Contains(strings.Join(words, " ")+" ", want) {
			t.Errorf("%q is missing in %s", want, words)
		}
	}
	if n := slices.Index(words, "here"); words[n+1] != "agent-run" || n+2 != len(words) {
		t.Errorf("behind the image: %s", words[n:])
	}
	b, log, _ = newBox(t, func(o *container.Options) { o.Network = true })
	if _, err := b.Run(t.Context(), nil, "x"); err != nil || !strings.Contains(log(), "--network bridge") {
		t.Errorf("%v %s", err, log())
	}
}

func TestRefusals(t *testing.T) {
	t.Run("no engine", func(t *testing.T) {
		b, _, _ := newBox(t, func(o *container.Options) { o.Engine = "/nowhere/docker" })
		if _, err := b.Run(t.Context(), nil, "x"); !errors.Is(err, container.ErrNoEngine) || !strings.Contains(err.Error(), "; install Docker or Podman") {
			t.Error(err)
		}
	})
	t.Run("engine down", func(t *testing.T) {
		b, log, dir := newBox(t, nil)
		if err := os.WriteFile(filepath.Join(dir, "down"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Run(t.Context(), nil, "x"); !errors.Is(err, container.ErrDown) || !strings.Contains(err.Error(), "Cannot connect to the daemon") {
			t.Error(err)
		}
		if strings.Contains(log(), "run ") {
			t.Error("the container was started")
		}
	})
	t.Run("no image", func(t *testing.T) {
		b, log, _ := newBox(t, func(o *container.Options) { o.Image = "gone" })
		if _, err := b.Run(t.Context(), nil, "x"); !errors.Is(err, container.ErrNoImage) || !strings.Contains(err.Error(), "; fetch it with: docker pull gone") || strings.Contains(log(), "run ") {
			t.Error(err)
		}
	})
	t.Run("the command fails", func(t *testing.T) {
		b, _, _ := newBox(t, nil)
		if _, err := b.Run(t.Context(), nil, "fail"); err == nil || !strings.Contains(err.Error(), "it broke") {
			t.Error(err)
		}
	})
}

func TestRun_RemovesAHangingContainer(t *testing.T) {
	b, log, _ := newBox(t, func(o *container.Options) { o.Timeout = 50 * time.Millisecond })
	if _, err := b.Run(t.Context(), nil, "hang"); !errors.Is(err, container.ErrTimeout) {
		t.Error(err)
	}
	if !strings.Contains(log(), "rm --force hob-") {
		t.Error(log())
	}
	b, log, _ = newBox(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := b.Run(ctx, nil, "hang"); !errors.Is(err, context.Canceled) || !strings.Contains(log(), "rm --force hob-") {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	b, log, _ := newBox(t, nil)
	if err := b.RemoveStale(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := log(); !strings.Contains(s, "label=hob.home=h1 --filter label=hob.agent=clerk") || !strings.Contains(s, "rm --force left1 left2") {
		t.Error(s)
	}
}
