package index_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"hob/knowledge"
	"hob/knowledge/index"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/store/storetest"
)

// childEnv passes the folder and the random seed to the process that the test kills.
const childEnv = "HOB_INDEX_CHILD"

func TestMain(m *testing.M) {
	if dir, seed, ok := strings.Cut(os.Getenv(childEnv), "|"); ok {
		n, _ := strconv.ParseUint(seed, 10, 64)
		fmt.Fprintln(os.Stderr, changeForever(context.Background(), dir, n))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, // scorch never finishes a batch that is in progress when it is closed
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve/v2/index/scorch.(*Scorch).Batch"),
		goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.(*AnalysisQueue).Queue"))
}

// changeForever changes rows forever, while the index follows, is rebuilt and is compacted.
func changeForever(ctx context.Context, dir string, seed uint64) error {
	st, err := storetest.Open(ctx, filepath.Join(dir, "hob.db"), knowledge.Migrations(), store.Options{})
	if err != nil {
		return err
	}
	ix, err := index.New(st, filepath.Join(dir, "index"), index.Options{Delay: time.Millisecond})
	if err != nil {
		return err
	}
	base, err := knowledge.New(st, knowledge.Options{Index: ix, Changed: ix.Changed})
	if err != nil {
		return err
	}
	failed := make(chan error, 3)
	go func() { failed <- ix.Run(ctx) }()
	r := rand.New(rand.NewPCG(seed, 1))
	go func() {
		for {
			var err error
			if r.IntN(2) == 0 {
				err = ix.Compact(ctx)
			} else {
				err = ix.Reindex(ctx, nil)
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	go func() { failed <- changeRandomly(ctx, st, base, seed) }()
	return <-failed
}

func changeRandomly(ctx context.Context, st *store.Store, base *knowledge.Base, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for round := 0; ; round++ {
		err := st.Write(ctx, func(tx *store.Tx) error {
			for range 1 + r.IntN(20) {
				ref := strconv.Itoa(r.IntN(400))
				if r.IntN(4) == 0 {
					if err := base.UnindexTx(tx, "note", ref); err != nil {
						return err
					}
					continue
				}
				var words []string
				for range 3 + r.IntN(20) {
					words = append(words, randomWord(r.Uint64N(300)))
				}
				d := knowledge.Doc{Kind: "note", Ref: ref, Text: strings.Join(words, " "), At: t0, Provenance: provenance.Owner, Realm: []string{"", "work"}[r.IntN(2)]}
				if err := base.IndexTx(tx, d); err != nil {
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

// After a kill at any time, the index resumes correctly: its content equals that of a rebuild.
func TestKilled(t *testing.T) {
	kills := 12
	if s := os.Getenv("HOB_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	if testing.Short() {
		kills = 3
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for i := range kills {
		killChild(t, dir, r.Uint64(), time.Duration(r.IntN(150))*time.Millisecond)
		if i%4 == 3 || i == kills-1 {
			asNew(t, dir)
		}
	}
}

func killChild(t *testing.T, dir string, seed uint64, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	failOnError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", childEnv, dir, seed))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	failOnError(t, err)
	failOnError(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the process exited by itself: %v %s", err, stderr.String())
	}
	<-time.After(after)
	failOnError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if strings.Contains(stderr.String(), "index:") {
		t.Errorf("log before the kill: %s", stderr.String())
	}
}

// asNew opens the files of a killed process and compares them with a rebuild.
func asNew(t *testing.T, dir string) {
	t.Helper()
	st, err := storetest.Open(t.Context(), filepath.Join(dir, "hob.db"), knowledge.Migrations(), store.Options{})
	failOnError(t, err)
	defer st.Close()
	var dumps []map[string]bool
	var answers []string
	for _, folder := range []string{filepath.Join(dir, "index"), ""} {
		ix, err := index.New(st, folder, index.Options{})
		failOnError(t, err)
		failOnError(t, ix.CatchUp(t.Context()))
		s, err := ix.Stats(t.Context())
		failOnError(t, err)
		if _, err := os.Stat(filepath.Join(dir, "index", "damaged")); s.Behind != 0 || err == nil {
			t.Errorf("%+v; set aside: %v", s, err)
		}
		d, err := ix.Dump()
		failOnError(t, err)
		dumps = append(dumps, d)
		var b strings.Builder
		for i := range uint64(40) {
			a, err := ix.SearchTerms(st.Reader(t.Context()), knowledge.TermQuery{Text: randomWord(i*7) + " " + randomWord(i*3) + " " + randomWord(i), Kinds: []string{"note"}, Realms: []string{"", "work"}})
			failOnError(t, err)
			fmt.Fprintf(&b, "%+v\n", a)
		}
		answers = append(answers, b.String())
		failOnError(t, ix.Close())
	}
	if !maps.Equal(dumps[0], dumps[1]) {
		t.Errorf("the index differs from a rebuilt one: %s", cmp.Diff(slices.Sorted(maps.Keys(dumps[1])), slices.Sorted(maps.Keys(dumps[0]))))
	}
	if d := cmp.Diff(answers[1], answers[0]); d != "" {
		t.Errorf("search results differ from a rebuilt index: %s", d)
	}
}
