package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/knowledge"
	"hob/knowledge/index"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/credential"
	"hob/platform/text/sorting"
)

// Options holds the options of Run. The zero value is valid.
type Options struct {
	// Tuning, HalfLife and Index are options for the memory.
	Tuning   knowledge.Tuning
	HalfLife time.Duration
	Index    index.Options
	// Progress is called with the number of completed questions.
	Progress func(done, all int)
	// Temp is the folder for the temporary memory (default: the system's temporary folder).
	Temp string
}

// Report holds the measurements of Run.
type Report struct {
	Figures
	Folders    []Figures `json:"folders"`
	Categories []Figures `json:"categories,omitempty"`
}

// Run measures collections, each in a separate namespace.
func Run(ctx context.Context, dirs []string, o Options) (r Report, err error) {
	list := make([]Collection, len(dirs))
	questions := 0
	for i, dir := range dirs {
		if list[i], err = Read(dir); err != nil {
			return r, err
		}
		questions += len(list[i].Questions)
	}
	b, err := openBase(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.closeBase()) }()
	for i, c := range list {
		if err := b.fillCollection(ctx, collectionRealm(i), c); err != nil {
			return r, err
		}
	}
	if err := b.waitIndexed(ctx); err != nil {
		return r, err
	}
	categories := map[string]*Figures{}
	for i, c := range list {
		f := Figures{Name: c.Name, Rows: len(c.Rows)}
		last := dayAfterNewest(c)
		for _, k := range c.Questions {
			found, took, err := b.searchFor(ctx, collectionRealm(i), k.Text, last)
			if err != nil {
				return r, fmt.Errorf("%s, %s: %w", c.Name, k.ID, err)
			}
			f.addQuestion(k.Relevant, found, took)
			if k.Category != "" {
				if categories[k.Category] == nil {
					categories[k.Category] = &Figures{Name: k.Category}
				}
				categories[k.Category].addQuestion(k.Relevant, found, took)
			}
			if o.Progress != nil {
				o.Progress(r.Questions+f.Questions, questions)
			}
		}
		r.addSums(f)
		f.divideSums()
		r.Folders = append(r.Folders, f)
	}
	r.divideSums()
	for _, f := range categories {
		f.divideSums()
		r.Categories = append(r.Categories, *f)
	}
	sorting.ByFunc(r.Categories, func(a, b Figures) int { return compareNatural(a.Name, b.Name) })
	return r, nil
}

func collectionRealm(i int) string { return "collection-" + strconv.Itoa(i) }

// compareNatural compares numbers by value. Other strings sort after numbers.
func compareNatural(a, b string) int {
	size := func(s string) int {
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		return math.MaxInt
	}
	return cmp.Or(cmp.Compare(size(a), size(b)), strings.Compare(a, b))
}

// dayAfterNewest returns the time at which questions are asked: one day after the last row.
func dayAfterNewest(c Collection) time.Time {
	var t time.Time
	for _, r := range c.Rows {
		if r.At.After(t) {
			t = r.At
		}
	}
	if t.IsZero() {
		return time.Now().UTC()
	}
	return t.AddDate(0, 0, 1)
}

// tempMemory is a temporary memory.
type tempMemory struct {
	dir   string
	store *store.Store
	index *index.Index
	know  *knowledge.Base
}

func openBase(ctx context.Context, o Options) (b *tempMemory, err error) {
	b = &tempMemory{}
	if b.dir, err = os.MkdirTemp(o.Temp, "hob-eval-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closeBase())
		}
	}()
	if b.store, err = store.Open(ctx, filepath.Join(b.dir, "hob.db"), knowledge.Migrations(), store.Options{}); err != nil {
		return b, err
	}
	if b.index, err = index.New(b.store, filepath.Join(b.dir, "index"), o.Index); err != nil {
		return b, err
	}
	b.know, err = knowledge.New(b.store, knowledge.Options{Tuning: o.Tuning, HalfLife: o.HalfLife, Index: b.index, Changed: b.index.Changed})
	return b, err
}

func (b *tempMemory) closeBase() (err error) {
	if b.index != nil {
		err = b.index.Close()
	}
	if b.store != nil {
		err = errors.Join(err, b.store.Close())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// batch is the number of rows per transaction.
const batch = 1000

// fillCollection stores a collection in the memory. A row with a session is stored as a turn in a
// conversation, and any other row as a part of a document.
func (b *tempMemory) fillCollection(ctx context.Context, realm string, c Collection) error {
	pos := map[string]int{}
	for part := range slices.Chunk(c.Rows, batch) {
		err := b.store.Write(ctx, func(tx *store.Tx) error {
			for _, r := range part {
				d := knowledge.Doc{
					Kind: knowledge.KindChunk, Ref: realm + "/" + r.ID, Title: r.Title, Text: r.Text, At: r.At, Provenance: provenance.Owner,
					Realm: realm, Speaker: r.storedSpeaker(),
				}
				if r.Session != "" {
					d.Kind, d.Group, d.Pos = knowledge.KindTurn, realm+"/"+r.Session, pos[r.Session]
					pos[r.Session]++
				}
				if err := b.know.IndexTx(tx, d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// waitIndexed waits until all rows are indexed.
func (b *tempMemory) waitIndexed(ctx context.Context) error { return b.index.CatchUp(ctx) }

func (b *tempMemory) searchFor(ctx context.Context, realm, text string, now time.Time) (found []string, took time.Duration, err error) {
	start := time.Now()
	a, err := b.know.Retrieve(ctx, b.store.Reader(ctx), knowledge.Request{Text: text, Realm: realm, Limit: depth, Now: now, Viewer: credential.Everything()})
	took = time.Since(start)
	for _, h := range a.Hits {
		found = append(found, h.Ref[len(realm)+1:])
	}
	return found, took, err
}
