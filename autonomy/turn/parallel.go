package turn

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"hob/autonomy/guard"
	"hob/tools"
)

// width is the maximum number of parallel calls.
const width = 4

// runTogether decides on all calls and runs them in parallel. If the guard does not immediately
// allow one of them, it runs the calls one after another (see runInOrder).
func (tc *toolCalls) runTogether(ctx context.Context) (suspended bool, err error) {
	var open []*callStep
	for _, s := range tc.hist.steps {
		if err := tc.decideCall(ctx, s); err != nil {
			return false, err
		}
		s.decided = true
		if s.hasOutcome() {
			continue
		}
		if s.dec.Verdict != guard.Allow {
			return tc.runInOrder(ctx)
		}
		open = append(open, s)
	}
	if err := tc.rec.recordStarts(ctx, effectfulSteps(open[:min(width, len(open))])); err != nil {
		return false, err
	}
	return false, tc.runAll(ctx, open)
}

// runAll runs calls in parallel and starts them in order. Each call with effects is recorded in the
// ledger as started before it runs. The caller has recorded the first calls (up to width) in one
// transaction; runAll records each other call when it starts.
func (tc *toolCalls) runAll(ctx context.Context, steps []*callStep) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, len(steps))
	for range min(width, len(steps)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(steps); i = int(next.Add(1)) - 1 {
				if i >= width {
					errs[i] = tc.exec.performCall(ctx, steps[i])
					continue
				}
				errs[i] = tc.exec.executeCall(ctx, steps[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// effectfulSteps returns the steps that have effects and do not run in a separate transaction.
func effectfulSteps(steps []*callStep) (out []*callStep) {
	for _, s := range steps {
		if _, own := s.tool.(tools.TxTool); !own && !s.tool.Spec().Effects.ReadOnly() {
			out = append(out, s)
		}
	}
	return out
}

// canRunTogether reports whether the calls can run concurrently. This requires that all calls only
// read, or that each call lists its files and no call changes a file that another call uses.
// Changes by a TxTool are transactions on Hob's database and keep their order.
func canRunTogether(steps []*callStep) bool {
	open := make([]*callStep, 0, len(steps))
	looking := true
	for _, s := range steps {
		if s.hasOutcome() {
			continue
		}
		if _, waits := s.tool.(tools.Waiter); waits {
			return false
		}
		looking = looking && s.tool.Spec().Effects.ReadOnly()
		open = append(open, s)
	}
	return len(open) > 1 && (looking || hasDisjointFiles(open))
}

// hasDisjointFiles reports whether all calls use only files, and no path that one call changes
// overlaps a path of another call.
func hasDisjointFiles(steps []*callStep) bool {
	touched := make([][]string, len(steps))
	for i, s := range steps {
		if s.tool.Spec().Effects&^(tools.Read|tools.Write) != 0 {
			return false
		}
		p, ok := s.tool.(tools.Pather)
		if _, own := s.tool.(tools.TxTool); own || !ok {
			return false
		}
		if touched[i] = p.Paths(s.args); len(touched[i]) == 0 {
			return false
		}
		for k, path := range touched[i] {
			if !filepath.IsAbs(path) { // a relative path has no known base
				return false
			}
			touched[i][k] = foldPath(path)
		}
	}
	for i, s := range steps {
		for j := range i {
			looking := s.tool.Spec().Effects.ReadOnly() && steps[j].tool.Spec().Effects.ReadOnly()
			if !looking && hasOverlap(touched[i], touched[j]) {
				return false
			}
		}
	}
	return true
}

// foldPath normalizes path for comparison. Every OS has file systems that ignore case or Unicode
// composition. On other file systems, the only effect is that some calls run one after another
// instead of in parallel.
func foldPath(path string) string {
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFC.String(filepath.Clean(path)))))
}

// hasOverlap reports whether a path in a is equal to, contains or is below a path in b.
func hasOverlap(a, b []string) bool {
	for _, p := range a {
		for _, q := range b {
			if isWithinFolder(p, q) || isWithinFolder(q, p) {
				return true
			}
		}
	}
	return false
}

// isWithinFolder reports whether path is equal to folder or below it.
func isWithinFolder(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || strings.HasSuffix(folder, string(filepath.Separator)) || rest[0] == filepath.Separator)
}
