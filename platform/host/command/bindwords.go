package command

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// boundWord is a possible value of a word of a command. unknown is true if a part of the value is
// known only when the command runs; value is then the word as written.
type boundWord struct {
	value   string
	unknown bool
}

func valuesOf(list []boundWord) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = w.value
	}
	return out
}

// expandWord returns the possible values of a word: the results of the shell's expansion in each
// folder, with the values that the command itself assigns to variables.
func (b *binding) expandWord(dirs []string, w *syntax.Word) []boundWord {
	if w == nil {
		return nil
	}
	var out []boundWord
	add := func(v string, unknown bool) {
		if x := (boundWord{v, unknown}); len(out) < maxBound && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	for _, dir := range dirs {
		if list, err := b.look.expandFields(dir, w); err == nil {
			for _, v := range list {
				add(v, false)
			}
			continue
		}
		shapes, unknown := b.expandParts(dir, w.Parts)
		for _, shape := range shapes {
			for _, v := range b.matchPattern(dir, shape) {
				add(v, false)
			}
		}
		if unknown {
			add(b.wordSource(w), true)
		}
	}
	return out
}

// wordSource returns a word as written in the command.
func (b *binding) wordSource(w *syntax.Word) string {
	from, to := int(w.Pos().Offset()), int(w.End().Offset())
	if from < to && to <= len(b.text) {
		return b.text[from:to]
	}
	return "a word"
}

// matchPattern returns the files that match a pattern, or the text itself if it is not a pattern.
func (b *binding) matchPattern(dir, shape string) []string {
	if !strings.ContainsAny(shape, "*?[") {
		return []string{shape}
	}
	if strings.Trim(shape, "*") == "" {
		return nil // the pattern may match any file
	}
	if !filepath.IsAbs(shape) {
		shape = dir + "/" + shape
	}
	return b.look.matchFiles(shape)
}

// expandParts returns the possible texts of the parts of a word. Unknown parts are replaced with
// "*".
func (b *binding) expandParts(dir string, parts []syntax.WordPart) (shapes []string, unknown bool) {
	shapes = []string{""}
	extend := func(values []string) {
		var next []string
		for _, s := range shapes {
			for _, v := range values {
				if len(next) < maxFits {
					next = append(next, s+v)
				}
			}
		}
		shapes = next
	}
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			v := strings.ReplaceAll(p.Value, `\`, "")
			if i == 0 && ownHome(v, len(parts) == 1) {
				v = b.look.judge.opt.Home + v[1:]
			}
			extend([]string{v})
		case *syntax.SglQuoted:
			extend([]string{p.Value})
		case *syntax.DblQuoted:
			inner, u := b.expandParts(dir, p.Parts)
			unknown = unknown || u
			extend(inner)
		case *syntax.ParamExp:
			values, u := b.parameterValues(dir, p)
			unknown = unknown || u
			extend(values)
		default:
			unknown = true
			extend([]string{"*"})
		}
	}
	return shapes, unknown
}

// parameterValues returns the possible values of a variable.
func (b *binding) parameterValues(dir string, p *syntax.ParamExp) (values []string, unknown bool) {
	if b.look.parameterReason(p) == "" {
		return []string{b.look.variableLookup(dir)(p.Param.Value)}, false
	}
	plain := p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil
	if known := b.values[nameOf(p)]; plain && len(known) > 0 {
		return known, b.open[nameOf(p)]
	}
	return []string{"*"}, true
}

func nameOf(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	return p.Param.Value
}
