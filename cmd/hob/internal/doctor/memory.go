package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Derived is the state of an index that is derived from the memory, as reported by the running
// daemon.
type Derived struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Cause  string `json:"cause"`
	Behind int    `json:"behind"`
}

// muchBehind is the number of changes by which an index may lag before the doctor reports it. It
// catches up with fewer in seconds.
const muchBehind = 10_000

// checkMemory checks that all items are indexed. The data itself is in the database, which has
// a separate check.
func checkMemory(ctx context.Context, e Env) []Check {
	const reindex = "rebuild it: hob memory reindex"
	if _, err := os.Stat(filepath.Join(e.Paths.Index(), "damaged")); err == nil {
		return withFix(e.rebuildIndex, warnCheck("memory", "a damaged index was moved to "+filepath.Join(e.Paths.Index(), "damaged"), "no data was lost; "+reindex+" removes it"))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return warnCheck("memory", fmt.Sprintf("read the index folder: %v", err), "take ownership: chown -R $USER "+e.Paths.Index())
	}
	if e.Memory == nil {
		return skipCheck("memory", "the index is checked while Hob runs", "hob start, then: hob doctor memory")
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

// rebuildIndex rebuilds the index: immediately in the daemon; otherwise it removes the index, which
// Hob rebuilds when needed.
func (e Env) rebuildIndex(ctx context.Context) (string, error) {
	if e.Reindex != nil {
		return "rebuilt the index", e.Reindex(ctx)
	}
	return "removed the damaged index; Hob rebuilds it when needed", os.RemoveAll(e.Paths.Index())
}
