package desktop_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/desktop"
	"hob/platform/host/desktop/desktoptest"
)

// Notices are read aloud if the owner enabled that. Answers are never read aloud.
func TestSpeak(t *testing.T) {
	for name, speak := range map[string]bool{"wanted": true, "not wanted": false} {
		t.Run(name, func(t *testing.T) {
			bus, dir := desktoptest.NewBus(t), t.TempDir()
			desktoptest.NewServer(t, bus, "body")
			said := filepath.Join(dir, "said")
			if err := os.WriteFile(filepath.Join(dir, "espeak-ng"), []byte("#!/bin/sh\n/bin/cat >>"+said+"\necho >>"+said+"\n"), 0o700); err != nil { //nolint:gosec // the file is a program
				t.Fatal(err)
			}
			ch, err := desktop.New(desktop.Config{Speak: speak}, channels.Deps{}, desktop.Options{Getenv: bus.Environ(map[string]string{"PATH": dir})})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var run sync.WaitGroup
			run.Go(func() { _ = ch.Run(ctx, nil) })
			for _, d := range []channels.Delivery{{ID: "1", Kind: channels.Reply, Text: "an answer"}, {ID: "2", Kind: channels.Notice, Text: "The backup is done."}} {
				if _, err := ch.Send(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			var text string
			for deadline := time.Now().Add(60 * time.Second); speak && !strings.HasSuffix(text, "\n") && time.Now().Before(deadline); {
				b, _ := os.ReadFile(said) // the file may not exist yet
				text = string(b)
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
			run.Wait()
			b, _ := os.ReadFile(said) // the file does not exist if nothing was read aloud
			if want := map[bool]string{true: "The backup is done.\n"}[speak]; string(b) != want {
				t.Errorf("spoken text = %q", b)
			}
		})
	}
}
