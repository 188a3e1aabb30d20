package templates

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// maxSkills is the maximum total size of a template's skills, in bytes.
const maxSkills = 256 << 10

// Skill contains instructions for one kind of task. A model reads them if a request matches. A
// skill grants no tools or permissions.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"` // one line about its purpose
	Text        string `json:"text"`
}

// parseSkill parses a SKILL.md file: text with an optional header between two "---" lines that
// contains a description (https://agentskills.io/specification).
func parseSkill(name string, raw []byte) (Skill, error) {
	if err := CheckName(name); err != nil {
		return Skill{}, fmt.Errorf("skill name: %w", err)
	}
	if !utf8.Valid(raw) {
		return Skill{}, fmt.Errorf("%w: the skill %s is not UTF-8 text", ErrInvalid, name)
	}
	s := Skill{Name: name, Text: strings.ReplaceAll(string(raw), "\r\n", "\n")}
	if rest, ok := strings.CutPrefix(s.Text, "---\n"); ok {
		if head, body, ok := strings.Cut(rest, "\n---"); ok {
			for line := range strings.Lines(head) {
				if v, ok := strings.CutPrefix(strings.TrimSpace(line), "description:"); ok {
					s.Description = textnorm.Ellipsize(strings.Trim(strings.TrimSpace(v), `"'`), 500)
				}
			}
			s.Text = strings.TrimPrefix(body, "\n")
		}
	}
	s.Text = strings.TrimSpace(s.Text)
	if s.Text == "" || strings.ContainsFunc(s.Description, unicode.IsControl) {
		return Skill{}, fmt.Errorf("%w: the skill %s is empty, or its description contains control characters", ErrInvalid, name)
	}
	return s, nil
}

// skillsOf parses the skills of a template, sorted by name.
func skillsOf(skills map[string][]byte) (out []Skill, err error) {
	size := 0
	for name, raw := range skills {
		s, err := parseSkill(name, raw)
		if err != nil {
			return nil, err
		}
		out, size = append(out, s), size+len(raw)
	}
	if len(out) > maxThings || size > maxSkills {
		return nil, fmt.Errorf("%w: its skills exceed the limit of %d skills or of %d KB in total", ErrInvalid, maxThings, maxSkills>>10)
	}
	sorting.ByFunc(out, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Fits returns how well a skill matches a request: the number of words of its name and description
// that occur in the request, or 0 if the skill does not match. One word is not enough, unless the
// request contains all words of the name.
func (s Skill) Fits(wish string) int {
	have := MeaningfulStems(wish)
	all := func(words []string) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) })
	}
	name := MeaningfulStems(strings.ReplaceAll(s.Name, "-", " "))
	n := 0
	for _, w := range slices.Compact(slices.Sorted(slices.Values(append(MeaningfulStems(s.Description), name...)))) {
		if slices.Contains(have, w) {
			n++
		}
	}
	if n < 2 && !all(name) {
		return 0
	}
	return n
}

// MeaningfulStems returns the stems of the meaningful words in text.
func MeaningfulStems(text string) (out []string) {
	for _, w := range textnorm.FoldedWords(text) {
		if len(w) < 4 || strings.Contains(" this that with when from into what your have will then them they there these those about which while where their every other after before being using used uses make ", " "+w+" ") {
			continue
		}
		for _, end := range []string{"ing", "ies", "es", "ed", "s", "y", "e"} {
			if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 3 {
				w = cut
				break
			}
		}
		out = append(out, w)
	}
	return out
}

// InUse returns the state of the template in use, with its skills, from a state folder
// (Options.Dir).
func InUse(dir string) (State, error) {
	var s State
	_, err := readJSON(filepath.Join(dir, stateFile), &s)
	return s, err
}

// ChangeTool is the tool name of changes of the template in the journal. No model can call the tool.
const ChangeTool = "change_template"

// StatePath returns the path of the state file that InUse reads.
func StatePath(dir string) string { return filepath.Join(dir, stateFile) }
