package templates

import (
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// takeBackConfig returns the configuration without the template's changes but with the owner's own
// edits.
func (h *Installation) takeBackConfig(s State, p *Plan) (*string, error) {
	now, err := readText(h.opt.Config)
	p.Config.pair.Before = now
	switch {
	case err != nil:
		return nil, err
	case s.Name == "" || isEqualText(s.Config.Before, s.Config.After):
		return now, nil
	}
	before, after := textOf(s.Config.Before), textOf(s.Config.After)
	if isEqualText(now, s.Config.After) && h.opt.Editor.Check([]byte(after), []byte(before)) == nil {
		return s.Config.Before, nil
	}
	ours, err := flattenKeys(textOf(now))
	if err != nil {
		return nil, err
	}
	base, berr := flattenKeys(after)
	theirs, terr := flattenKeys(before)
	if berr != nil || terr != nil || isEqualText(now, s.Config.After) {
		h.keepConfig(p, before, "the original configuration can no longer be read, for example because part of it was forgotten")
		return now, nil
	}
	want, conflicts := keys3(base, ours, theirs)
	for _, k := range conflicts {
		p.Conflicts = append(p.Conflicts, Conflict{
			File: filepath.Base(h.opt.Config), Key: k,
			Text: fmt.Sprintf("%s stays %s, because you changed it while the template was in use; the original value was %s", k, settingText(ours, k), settingText(theirs, k)),
		})
	}
	if len(conflicts) > 0 {
		p.keep["config.toml"] = before
	}
	if now == nil {
		return nil, nil // the owner removed the file
	}
	out := h.mergeOurs(after, *now, before)
	if !h.hasExpectedValues(out, want, *now) {
		out = withoutEmpty(h.byKey(*now, base, ours, theirs), after, before)
	}
	if !h.hasExpectedValues(out, want, *now) {
		h.keepConfig(p, before, "your edits overlap the lines to restore")
		return now, nil
	}
	if s.Config.Before == nil && strings.TrimSpace(out) == "" {
		return nil, nil
	}
	return &out, nil
}

// keepConfig records the conflict and leaves the configuration unchanged.
func (h *Installation) keepConfig(p *Plan, before, why string) {
	p.keep["config.toml"] = before
	p.Conflicts = append(p.Conflicts, Conflict{
		File: filepath.Base(h.opt.Config), Text: why + "; the file was not changed, and a copy of the original was saved",
	})
}

func settingText(m map[string]string, k string) string {
	if v, ok := m[k]; ok {
		return sanitizeExcerpt(v, 80)
	}
	return "not set"
}

// hasExpectedValues reports whether out contains the expected values and no new errors.
func (h *Installation) hasExpectedValues(out string, want map[string]string, now string) bool {
	got, err := flattenKeys(out)
	return err == nil && maps.Equal(got, want) && h.opt.Editor.Check([]byte(now), []byte(out)) == nil
}

// mergeOurs merges the changes line by line. If both sides changed the same lines, it keeps the
// owner's lines.
func (h *Installation) mergeOurs(base, ours, theirs string) string {
	b := splitLines(base)
	out, _ := mergeHunks(b, diffLines(b, splitLines(ours)), diffLines(b, splitLines(theirs)))
	return out
}

// mergeTheirs merges the changes line by line but treats the removal as one hunk, so that it also
// removes edits inside the removed text.
func mergeTheirs(base, ours, theirs string) string {
	b := splitLines(base)
	out, _ := mergeHunks(b, diffWhole(b, splitLines(theirs)), diffLines(b, splitLines(ours)))
	return out
}

// byKey reverts the keys that still have the template's values.
func (h *Installation) byKey(now string, base, ours, theirs map[string]string) string {
	out := []byte(now)
	for _, k := range slices.Sorted(mapKeys(base)) {
		was, had := theirs[k]
		if has, ok := ours[k]; !ok || has != base[k] || (had && was == base[k]) {
			continue
		}
		edit := func() ([]byte, error) { return h.opt.Editor.Unset(out, k) }
		if had {
			edit = func() ([]byte, error) { return h.opt.Editor.Set(out, k, was) } // the JSON form of a scalar is valid TOML
		}
		next, err := edit()
		if err != nil {
			return now // return the text unchanged; the caller detects that it has the wrong values
		}
		out = next
	}
	return string(out)
}

// withoutEmpty removes the headers of sections that the template added and that are now empty.
func withoutEmpty(s, after, before string) string {
	header := func(line string) string {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "[[") && strings.HasSuffix(line, "]") {
			return line
		}
		return ""
	}
	has := func(text, line string) bool {
		return slices.ContainsFunc(splitLines(text), func(l string) bool { return header(l) == line })
	}
	lines := splitLines(s)
	var out []string
	for i, l := range lines {
		name := header(l)
		if name == "" || has(before, name) || !has(after, name) || !hasNoKeys(lines[i+1:]) {
			out = append(out, l)
			continue
		}
		if n := len(out); n > 0 && strings.TrimSpace(out[n-1]) == "" {
			out = out[:n-1] // remove the blank line that was added with the header
		}
	}
	return strings.Join(out, "")
}

// hasNoKeys reports whether there is no key before the next header.
func hasNoKeys(lines []string) bool {
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") {
			return strings.HasPrefix(l, "[")
		}
	}
	return true
}

// takeBackSoul returns the personality without the template's text but with the owner's additions.
// A copy of the file is saved if the owner edited the template's text.
func (h *Installation) takeBackSoul(s State, p *Plan) (*string, error) {
	now, err := readText(h.opt.Soul)
	p.Soul.pair.Before = now
	switch {
	case err != nil:
		return nil, err
	case s.Name == "" || isEqualText(s.Soul.Before, s.Soul.After):
		return now, nil
	case isEqualText(now, s.Soul.After) || now == nil:
		return s.Soul.Before, nil
	}
	before := textOf(s.Soul.Before)
	if s.Soul.Before == nil {
		before = h.opt.Persona // the text that is effective if the file does not exist
	}
	base := splitLines(textOf(s.Soul.After))
	out, left := mergeHunks(base, diffWhole(base, splitLines(before)), diffLines(base, splitLines(*now)))
	if len(left) > 0 {
		name := filepath.Base(h.opt.Soul)
		p.keep[name] = *now
		p.Conflicts = append(p.Conflicts, Conflict{
			File: name, Text: "you changed lines of the template's personality; your changes are removed together with the template, and a copy of your version was saved",
		})
	}
	if s.Soul.Before == nil && out == before {
		return nil, nil // no text by the owner is left
	}
	return &out, nil
}
