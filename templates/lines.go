package templates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hob/platform/text/sorting"
)

// hunk replaces the lines [from, to) of a text by other lines.
type hunk struct {
	from, to int
	lines    []string
}

// splitLines splits text into lines, including their line ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	out := strings.SplitAfter(text, "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// maxEdits limits the search for the smallest difference. If more edits are necessary, all lines
// between the common beginning and the common end become one change.
const maxEdits = 2000

// diffLines returns the hunks that change a into b, in order. It uses the greedy algorithm of E.
// Myers, "An O(ND) difference algorithm and its variations" (1986).
func diffLines(a, b []string) []hunk {
	pre, post := commonEnds(a, b)
	x, y := a[pre:len(a)-post], b[pre:len(b)-post]
	if len(x)+len(y) == 0 {
		return nil
	}
	path := shortestEdit(x, y)
	if path == nil {
		return []hunk{{pre, len(a) - post, y}}
	}
	var out []hunk
	i, j := 0, 0
	for _, m := range append(path, [2]int{len(x), len(y)}) { // the pairs of equal lines, and the end of both texts
		if m[0] > i || m[1] > j {
			out = append(out, hunk{pre + i, pre + m[0], y[j:m[1]]})
		}
		i, j = m[0]+1, m[1]+1
	}
	return out
}

// diffWhole returns the difference as one hunk, or none if a and b are equal.
func diffWhole(a, b []string) []hunk {
	pre, post := commonEnds(a, b)
	if pre+post == len(a) && pre+post == len(b) {
		return nil
	}
	return []hunk{{pre, len(a) - post, b[pre : len(b)-post]}}
}

// commonEnds returns the number of lines that a and b have in common at the beginning and at the
// end.
func commonEnds(a, b []string) (pre, post int) {
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	return pre, post
}

// shortestEdit returns the pairs of equal lines along a shortest edit path. It returns nil if the
// path would be longer than maxEdits.
func shortestEdit(a, b []string) [][2]int {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	v := make([]int, 2*most+3)
	at := func(k int) int { return k + most + 1 }
	var trace [][]int
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(v[at(-d-1):at(d+1)+1]))
		for k := -d; k <= d; k += 2 {
			x := v[at(k-1)] + 1
			if k == -d || (k != d && v[at(k-1)] < v[at(k+1)]) {
				x = v[at(k+1)]
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = x
			if x >= n && x-k >= m {
				return backtrackEdits(trace, n, m)
			}
		}
	}
	return nil
}

// backtrackEdits walks the trace from the end to the beginning.
func backtrackEdits(trace [][]int, x, y int) [][2]int {
	pairs := [][2]int{}
	for d := len(trace) - 1; d >= 0; d-- {
		v := func(k int) int { return trace[d][k+d+1] }
		k := x - y
		prev := k - 1
		if k == -d || (k != d && v(k-1) < v(k+1)) {
			prev = k + 1
		}
		px := v(prev)
		py := px - prev
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = px, py
	}
	slices.Reverse(pairs)
	return pairs
}

// isOverlapping reports whether two changes affect the same lines. Adjacent changes do not
// overlap.
func isOverlapping(a, b hunk) bool {
	if a.from == a.to || b.from == b.to {
		if b.from == b.to {
			a, b = b, a
		}
		return b.from < a.from && a.from < b.to // the insertion point is within the other change
	}
	return a.from < b.to && b.from < a.to
}

func isSameHunk(a, b hunk) bool {
	return a.from == b.from && a.to == b.to && slices.Equal(a.lines, b.lines)
}

// mergeHunks applies two sets of changes. Where they overlap, it applies the hunks of winner and
// returns the dropped hunks of loser.
func mergeHunks(base []string, winner, loser []hunk) (text string, left []hunk) {
	all := slices.Clone(winner)
	for _, h := range loser {
		switch {
		case slices.ContainsFunc(winner, func(w hunk) bool { return isSameHunk(w, h) }):
		case slices.ContainsFunc(winner, func(w hunk) bool { return isOverlapping(w, h) }):
			left = append(left, h)
		default:
			all = append(all, h)
		}
	}
	sorting.StableByFunc(all, func(a, b hunk) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var b strings.Builder
	add := func(lines []string) {
		for _, l := range lines {
			if s := b.String(); s != "" && s[len(s)-1] != '\n' {
				b.WriteByte('\n') // the last line of a text may lack a line end
			}
			b.WriteString(l)
		}
	}
	i := 0
	for _, h := range all {
		add(base[i:h.from])
		add(h.lines)
		i = h.to
	}
	add(base[i:])
	return b.String(), left
}

// Diff returns a unified diff from a to b. around is the number of context lines. Diff returns ""
// if a and b are equal.
func Diff(name, a, b string, around int) string {
	x, y := splitLines(a), splitLines(b)
	hunks := diffLines(x, y)
	if len(hunks) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for i, shift := 0, 0; i < len(hunks); {
		j := i + 1
		for j < len(hunks) && hunks[j].from-hunks[j-1].to <= 2*around {
			j++
		}
		shift = writeHunkGroup(&out, x, hunks[i:j], around, shift)
		i = j
	}
	return out.String()
}

// writeHunkGroup writes adjacent changes as one hunk of the diff. It returns the offset between the
// line numbers of the two texts after the hunk.
func writeHunkGroup(out *strings.Builder, x []string, hunks []hunk, around, shift int) int {
	from, to := max(hunks[0].from-around, 0), min(hunks[len(hunks)-1].to+around, len(x))
	grown := 0
	for _, h := range hunks {
		grown += len(h.lines) - (h.to - h.from)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", hunkRange(from, to-from), hunkRange(from+shift, to-from+grown))
	put := func(sign string, lines []string) {
		for _, l := range lines {
			out.WriteString(sign + strings.TrimRight(l, "\r\n") + "\n")
		}
	}
	i := from
	for _, h := range hunks {
		put(" ", x[i:h.from])
		put("-", x[h.from:h.to])
		put("+", h.lines)
		i = h.to
	}
	put(" ", x[i:to])
	return shift + grown
}

// hunkRange formats a range of lines in the syntax of unified diffs.
func hunkRange(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	if n == 1 {
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}
