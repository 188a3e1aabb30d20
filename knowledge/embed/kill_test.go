package embed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm/openai"
	"hob/knowledge"
	"hob/knowledge/embed"
	"hob/knowledge/embed/embedtest"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// childEnv passes the folder, the embedder's address and the random seed to the process that the
// test kills.
const childEnv = "HOB_VECTORS_CHILD"

// isChild reports whether this is the process that the test kills.
func isChild() bool {
	part := strings.Split(os.Getenv(childEnv), "|")
	if len(part) != 3 {
		return false
	}
	seed, _ := strconv.ParseUint(part[2], 10, 64)
	fmt.Fprintln(os.Stderr, changeForever(context.Background(), part[0], part[1], seed))
	return true
}

// placedStore contains a store and its vectors, both in one folder.
type placedStore struct {
	st   *store.Store
	base *knowledge.Base
	vecs *embed.Vectors
}

func openPlace(ctx context.Context, dir, file, url string) (p placedStore, err error) {
	if p.st, err = storetest.Open(ctx, filepath.Join(dir, "hob.db"), knowledge.Migrations(), store.Options{}); err != nil {
		return p, err
	}
	m, err := openai.New(openai.Options{Provider: "local", BaseURL: url, Model: "hash"})
	if err != nil {
		return p, err
	}
	p.vecs, err = embed.New(embed.Options{Path: filepath.Join(dir, file), Store: p.st, Embedder: m, Model: "local/hash", Batch: 7})
	if err != nil {
		return p, err
	}
	p.base, err = knowledge.New(p.st, knowledge.Options{Changed: p.vecs.Changed})
	return p, err
}

// changeForever changes rows forever, while the vectors follow, are rebuilt and are erased.
func changeForever(ctx context.Context, dir, url string, seed uint64) error {
	p, err := openPlace(ctx, dir, "vectors.db", url)
	if err != nil {
		return err
	}
	failed := make(chan error, 3)
	r := rand.New(rand.NewPCG(seed, 1))
	go func() {
		for {
			if err := p.vecs.CatchUp(ctx, nil); err != nil {
				failed <- err
				return
			}
			switch r.IntN(6) {
			case 0:
				err = p.vecs.Reindex(ctx)
			case 1:
				_, err = p.vecs.Forget(ctx)
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	go func() { failed <- changeRandomly(ctx, p, seed) }()
	return <-failed
}

func changeRandomly(ctx context.Context, p placedStore, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for round := 0; ; round++ {
		err := p.st.Write(ctx, func(tx *store.Tx) error {
			for range 1 + r.IntN(20) {
				ref := strconv.Itoa(r.IntN(300))
				if r.IntN(4) == 0 {
					if err := p.base.UnindexTx(tx, "note", ref); err != nil {
						return err
					}
					continue
				}
				d := knowledge.Doc{
					Kind: "note", Ref: ref, Text: fmt.Sprintf("word%d and word%d", r.IntN(50), r.IntN(50)),
					At: time.Unix(1, 0), Provenance: provenance.Owner, Realm: []string{"", "work"}[r.IntN(2)],
				}
				if err := p.base.IndexTx(tx, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if round == 0 {
			fmt.Println("working")
		}
	}
}

// After a kill at any time, the vectors resume correctly: their content equals that of a rebuild.
func TestKilled(t *testing.T) {
	storetest.FileOnly(t, "the killed program opens the file")
	kills := 12
	if s := os.Getenv("HOB_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	if testing.Short() {
		kills = 3
	}
	srv, dir := embedtest.New(t, embedtest.Options{}), t.TempDir()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range kills {
		killChild(t, dir, srv.URL, r.Uint64(), time.Duration(r.IntN(200))*time.Millisecond)
		if i%4 == 3 || i == kills-1 {
			asNew(t, dir, srv.URL)
		}
	}
}

func killChild(t *testing.T, dir, url string, seed uint64, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	failOnError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", childEnv, dir, url, seed))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	failOnError(t, err)
	failOnError(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	time.Sleep(after) // at a random time
	failOnError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out) // the process has ended
	_ = cmd.Wait()                  // the error reports the kill
	if stderr.Len() > 0 {
		t.Fatalf("the process exited by itself: %s", stderr.String())
	}
}

// asNew compares the vectors with vectors that are rebuilt from the rows.
func asNew(t *testing.T, dir, url string) {
	t.Helper()
	digest := func(file string) (string, int) {
		p, err := openPlace(t.Context(), dir, file, url)
		failOnError(t, err)
		failOnError(t, p.vecs.CatchUp(t.Context(), nil))
		sum, rows, err := p.vecs.Digest(t.Context())
		failOnError(t, err)
		s, err := p.vecs.Stats(t.Context())
		failOnError(t, err)
		if s.Behind != 0 || s.Anew {
			t.Errorf("%s: vectors are not up to date: %+v", file, s)
		}
		failOnError(t, errors.Join(p.vecs.Close(), p.st.Close()))
		return sum, rows
	}
	held, rows := digest("vectors.db")
	fresh, all := digest("fresh.db")
	if held != fresh || rows != all || rows == 0 {
		t.Fatalf("%d rows have vectors, want %d", rows, all)
	}
	failOnError(t, os.Remove(filepath.Join(dir, "fresh.db")))
}
