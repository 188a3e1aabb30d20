package prompt

import (
	"slices"

	"hob/platform/provenance"
	"hob/platform/text/sorting"
)

// kind is a kind of context. The order of the values is their order in the message.
type kind uint8

const (
	kindMemory kind = iota
	kindOutsideMemory
	kindGraph
	kindLessons
	kindOwner
	kindSkill
	kindProject
	kindIdentity
	kindNow
	kindTold
	kindReminder
)

// budgetShare is the size limit of a kind in bytes, and its rank. If the sections exceed the
// budget, the lowest ranks are dropped first. Critical sections are never dropped.
type budgetShare struct {
	max  int
	rank int
}

const critical = 100

// Limits in bytes for potentially long text. contextCollector shortens the text before it adds a
// section.
const (
	maxSkill   = 6_000
	maxProject = 12_000
)

func budgetShares(k kind) budgetShare {
	return [...]budgetShare{
		kindMemory:        {4_000, 5},
		kindOutsideMemory: {2_000, 1},
		kindGraph:         {3_000, 2},
		kindLessons:       {1_500, 6},
		kindOwner:         {400, 4},
		kindSkill:         {maxSkill + 200, 7},
		kindProject:       {2 * maxProject, 8},
		kindIdentity:      {maxSoul, 9},
		kindNow:           {200, critical},
		kindTold:          {2_000, 10},
		kindReminder:      {300, 3},
	}[k]
}

// section is one piece of context.
type section struct {
	kind   kind
	text   string
	source provenance.Source
	from   []provenance.Origin
	skill  string // name of the skill that a section of the kind kindSkill contains
}

// maxContext is the limit for the whole context in bytes. A model with a small window gets at most
// a fifth of the window, at 2.5 characters per token.
const (
	maxContext = 24_000
	minContext = 600
)

func budgetFor(window int) int {
	if window <= 0 {
		return maxContext
	}
	return max(minContext, min(maxContext, window/2))
}

// fitSections cuts each section to its share and drops whole sections until the rest fits. It drops
// the lowest rank first, and within a rank the last section first. Critical sections stay whole.
// The result is in the order of the kinds.
func fitSections(sections []section, budget int) []section {
	out := make([]section, 0, len(sections))
	total := 0
	for _, s := range sections {
		sh := budgetShares(s.kind)
		if sh.rank != critical {
			s.text = headLines(s.text, sh.max)
		}
		if s.text == "" {
			continue
		}
		out = append(out, s)
		total += len(s.text)
	}
	sorting.StableByFunc(out, func(x, y section) int { return int(x.kind) - int(y.kind) })
	for total > budget {
		drop := -1
		for i, s := range out {
			r := budgetShares(s.kind).rank
			if r != critical && (drop < 0 || r <= budgetShares(out[drop].kind).rank) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		total -= len(out[drop].text)
		out = slices.Delete(out, drop, drop+1)
	}
	return out
}
