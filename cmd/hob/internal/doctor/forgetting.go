package doctor

import (
	"context"
	"time"

	"hob/platform/text/textnorm"
)

// Erasure is the progress of one permanent deletion, as reported by the running daemon.
type Erasure struct {
	State   string    `json:"state"`
	Trouble string    `json:"trouble"`
	BegunAt time.Time `json:"begun_at"`
}

// longForgetting is the time for which a deletion may wait for turns before the doctor reports it.
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
		return warnCheck(name, "the deletion of "+waiting[0].BegunAt.Local().Format("2006-01-02 15:04")+" waits for a turn that does not end",
			"find the turn: hob status; the deletion completes when it ends, or after: hob stop, then hob start")
	case begun > 0:
		return okCheck(name, "deletions complete when the running turns end")
	case len(list) > 0:
		return okCheck(name, "all deletions are complete")
	}
	return nil
}
