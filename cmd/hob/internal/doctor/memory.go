package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hob/platform/host/system"
	"hob/platform/text/textnorm"
)

// Derived is the state of an index that is derived from the memory, as reported by the running
// daemon.
type Derived struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Cause  string `json:"cause"`
	Behind int    `json:"behind"`
}

// muchBehind is the maximum number of changes an index may lag behind before the doctor reports the
// index. An index catches up with fewer changes within seconds.
const muchBehind = 10_000

// checkMemory checks that all items are indexed. The data itself is in the database, which has
// a separate check.
func checkMemory(ctx context.Context, e Env) []Check {
	const reindex = "rebuild it: hob memory reindex"
	if _, err := os.Stat(filepath.Join(e.Paths.Index(), "damaged")); err == nil {
		return withFix(e.rebuildIndex, warnCheck("memory", "a damaged index was moved to "+filepath.Join(e.Paths.Index(), "damaged"), "no data was lost; "+reindex+" removes it"))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return warnCheck("memory", fmt.Sprintf("read the index folder: %v", err), "take ownership: chown -R $USER "+system.QuoteForShell(e.Paths.Index()))
	}
	if e.Memory == nil {
		return skipCheck("memory", "the index is checked while Hob is running", "hob start, then: hob doctor memory")
	}
	list, err := e.Memory(ctx)
	if err != nil {
		return failWithError("memory", err, reindex)
	}
	said := "all items are searchable"
	for _, d := range list {
		switch {
		case d.State == "off" && d.Cause == "":
			said += "; no " + d.Name
		case d.Cause != "":
			return withFix(e.rebuildIndex, warnCheck("memory", fmt.Sprintf("the %s does not work: %s", d.Name, d.Cause), reindex))
		case d.State == "building":
			said += "; the " + d.Name + " is being built"
		case d.Behind > muchBehind:
			return warnCheck("memory", fmt.Sprintf("the %s is %d changes behind", d.Name, d.Behind), "leave Hob running; if that does not change: hob memory reindex")
		}
	}
	return okCheck("memory", said)
}

// rebuildIndex rebuilds the index. In the daemon it does so immediately. Otherwise it removes the
// index, which Hob rebuilds when needed.
func (e Env) rebuildIndex(ctx context.Context) (string, error) {
	if e.Reindex != nil {
		return "rebuilt the index", e.Reindex(ctx)
	}
	return "removed the damaged index; Hob rebuilds it when needed", os.RemoveAll(e.Paths.Index())
}

// Erasure is the progress of one permanent deletion, as reported by the running daemon.
type Erasure struct {
	State   string    `json:"state"`
	Trouble string    `json:"trouble"`
	BegunAt time.Time `json:"begun_at"`
}

// longForgetting is how long a deletion may wait for turns before the doctor reports it.
const longForgetting = time.Hour

// checkForgetting checks that all deletions are complete.
func checkForgetting(ctx context.Context, e Env) []Check {
	const name = "forgetting"
	if e.Erasures == nil {
		return nil
	}
	list, err := e.Erasures(ctx)
	if err != nil {
		return failWithError(name, err, "see the log: hob doctor log")
	}
	var troubled, waiting []Erasure
	begun := 0
	for _, x := range list {
		switch {
		case x.State == "done":
		case x.Trouble != "":
			troubled = append(troubled, x)
		case e.Now.Sub(x.BegunAt) > longForgetting:
			waiting = append(waiting, x)
		default:
			begun++
		}
	}
	switch {
	case len(troubled) > 0:
		return failCheck(name, "the deletion of "+troubled[0].BegunAt.Local().Format("2006-01-02 15:04")+" is incomplete: "+textnorm.Ellipsize(troubled[0].Trouble, 300),
			"fix the cause; Hob retries automatically, or immediately after: hob stop, then hob start")
	case len(waiting) > 0:
		return warnCheck(name, "the deletion of "+waiting[0].BegunAt.Local().Format("2006-01-02 15:04")+" is waiting for a turn that does not end",
			"find the turn: hob status; the deletion completes when it ends, or after: hob stop, then hob start")
	case begun > 0:
		return okCheck(name, "deletions complete when the running turns end")
	case len(list) > 0:
		return okCheck(name, "all deletions are complete")
	}
	return nil
}
