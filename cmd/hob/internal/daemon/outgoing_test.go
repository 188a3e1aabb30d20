package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/autonomy/llm/llmtest"
	"hob/channels"
	"hob/knowledge/store"
	"hob/tools"
	"hob/tools/social"
)

func fileOf(data string) social.File {
	sum := sha256.Sum256([]byte(data))
	return social.File{Name: "a.txt", Size: int64(len(data)), Digest: hex.EncodeToString(sum[:])}
}

// A copy is whole or is not there, and what a crash left half written goes at the start.
func TestCopiesOfFilesThatGoOut(t *testing.T) {
	o := &outgoing{dir: filepath.Join(t.TempDir(), "outgoing"), since: time.Now()}
	put := func(f social.File, r io.Reader) error {
		return o.put(f, func() (io.ReadCloser, error) { return io.NopCloser(r), nil })
	}
	names := func() (out []string) {
		entries, err := os.ReadDir(o.dir)
		fatal(t, err)
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	f := fileOf("the report")
	fatal(t, put(f, strings.NewReader("the report")))
	fatal(t, put(f, strings.NewReader("not even read: it is there")))
	if b, err := os.ReadFile(o.path(f.Digest)); err != nil || string(b) != "the report" {
		t.Errorf("the copy holds %q, %v", b, err)
	}
	other := fileOf("another")
	if err := put(other, strings.NewReader("has changed")); tools.CodeOf(err) != tools.Conflict || !strings.Contains(err.Error(), "nothing was sent") {
		t.Errorf("a file that has changed: %v", err)
	}
	full := io.MultiReader(strings.NewReader("anot"), broken{syscall.ENOSPC})
	if err := put(other, full); tools.CodeOf(err) != tools.Failed || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk: %v", err)
	}
	if got := names(); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
	old, now := filepath.Join(o.dir, "."+other.Digest+".1"), filepath.Join(o.dir, "."+other.Digest+".2")
	for _, half := range []string{old, now} {
		fatal(t, os.WriteFile(half, []byte("anot"), 0o600))
	}
	before := o.since.Add(-time.Second)
	fatal(t, os.Chtimes(old, before, before))
	h := open(t, "")
	fatal(t, o.sweep(t.Context(), h.d.bus))
	if got := names(); len(got) != 2 || got[0] != filepath.Base(now) {
		t.Errorf("after the sweep there are %q", got)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// What a tool prepares is not done in a transaction: whoever writes meanwhile does not
// wait for it.
func TestNobodyWaitsForAFileThatIsCopied(t *testing.T) {
	p := newPigeon(0)
	var h *house
	type none struct{}
	copies := tools.New(tools.Def[none]{
		Spec: tools.Spec{Name: "copy_slowly", Category: "social", Effects: tools.Read, Description: "Copy."},
		Prepare: func(ctx context.Context, _ tools.Call, _ none) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			return "copied", h.d.store.Write(ctx, func(*store.Tx) error { return nil })
		},
		RunTx: func(_ context.Context, _ *store.Tx, c tools.Call, _ none) (tools.Result, error) {
			if c.Prepared != "copied" {
				return tools.Result{}, errors.New("nothing was prepared")
			}
			return tools.Result{Text: "it is copied"}, nil
		},
	})
	h = pigeonHouse(t, p, "", func(r llmtest.Request) llmtest.Answer {
		if len(r.Results) == 0 {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "use_tool", Args: `{"name":"copy_slowly","arguments":{}}`}}}
		}
		return llmtest.Answer{Text: "done: " + r.Results[0].Text}
	}, copies)
	p.hear(t, channels.Inbound{Text: "copy it"})
	p.reply(t, "done: it is copied")
}
