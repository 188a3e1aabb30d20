package templates

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/text/lazyregexp"

	"github.com/pelletier/go-toml/v2"
)

// Limits of a template, in bytes and items.
const (
	maxManifest = 64 << 10
	maxSoul     = 64 << 10
	maxSkill    = 64 << 10
	maxThings   = 50 // maximum number of items of each kind
	maxText     = 2000
)

// ErrInvalid is wrapped by all errors about invalid templates.
var ErrInvalid = errors.New("invalid template")

// ErrNotFound is returned, wrapped, if no template has the given name.
var ErrNotFound = errors.New("template not found")

// Template is a validated template.
type Template struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version"`
	Author      string     `json:"author,omitempty"`
	Origin      Origin     `json:"origin"`
	Path        string     `json:"path,omitempty"` // path of the folder or archive; "" for a built-in template
	Goals       []Goal     `json:"goals"`
	Schedules   []Schedule `json:"schedules"`
	Watchers    []Watcher  `json:"watchers"`
	Config      []Setting  `json:"config"` // sorted by key
	Soul        string     `json:"soul,omitempty"`
	// Skills lists the names of the template's skills.
	Skills []string `json:"skills,omitempty"`

	// Bodies contains the skills with their text.
	Bodies []Skill `json:"-"`
}

// Origin is the origin of a template.
type Origin string

// The origins of templates. Only built-in templates are trusted text.
const (
	Builtin Origin = "built-in"
	Own     Origin = "own" // from Hob's folder for templates
	Folder  Origin = "folder"
	Archive Origin = "archive"
)

// Source returns the mark that identifies the resources that the template creates.
func (t *Template) Source() string { return SourceOf(t.Name) }

// SourceOf returns the mark that identifies the resources that the named template creates.
func SourceOf(name string) string { return "template:" + name }

// Goal is a long-term goal that a template creates.
type Goal struct {
	Description string `json:"description" toml:"description"`
	Priority    int    `json:"priority" toml:"priority"` // 1 to 5, default 3
	Success     string `json:"success,omitempty" toml:"success"`
	CheckEvery  string `json:"check_every,omitempty" toml:"check_every"` // "30m"
}

// Schedule runs a task (Do) or sends a reminder (Say) at a time (At) or repeatedly (Every). Exactly
// one field of each pair is set.
type Schedule struct {
	Every  string `json:"every,omitempty" toml:"every"` // "weekday at 8:30"
	At     string `json:"at,omitempty" toml:"at"`
	Do     string `json:"do,omitempty" toml:"do"`   // a task in natural language
	Say    string `json:"say,omitempty" toml:"say"` // the text of a reminder, sent verbatim
	Missed string `json:"missed,omitempty" toml:"missed"`
}

// Watcher is a watcher that a template creates.
type Watcher struct {
	Kind   string         `json:"kind" toml:"kind"`
	Config map[string]any `json:"config" toml:"config"`   // configuration of the kind
	Do     string         `json:"do,omitempty" toml:"do"` // empty: notify only
}

// Setting is one key of the configuration and its value.
type Setting struct {
	Key   string `json:"key"`   // dotted
	Value string `json:"value"` // in TOML syntax
}

// manifest is the layout of template.toml.
type manifest struct {
	Template struct {
		Name        string `toml:"name"`
		Description string `toml:"description"`
		Version     string `toml:"version"`
		Author      string `toml:"author"`
	} `toml:"template"`
	Goals     []Goal         `toml:"goals"`
	Schedules []Schedule     `toml:"schedules"`
	Watchers  []Watcher      `toml:"watchers"`
	Config    map[string]any `toml:"config"`
}

var validName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName validates a template's name, which becomes part of paths.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %q is not a valid name; use up to 40 lowercase letters, digits and -, such as \"night-owl\"", ErrInvalid, sanitizeExcerpt(name, 60))
	}
	return nil
}

// Parse parses and checks template.toml and SOUL.md (nil if it does not exist). Unknown keys, and
// settings that templates may not change, are errors.
func Parse(toml, soul []byte) (*Template, error) {
	m, err := decodeManifest(toml)
	if err != nil {
		return nil, err
	}
	t := &Template{
		Name: m.Template.Name, Description: strings.TrimSpace(m.Template.Description), Version: m.Template.Version, Author: m.Template.Author,
		Goals: m.Goals, Schedules: m.Schedules, Watchers: m.Watchers,
	}
	if t.Config, err = flattenSettings(m.Config); err != nil {
		return nil, err
	}
	if len(soul) > maxSoul || !utf8.Valid(soul) {
		return nil, fmt.Errorf("%w: SOUL.md must be UTF-8 text of at most %d KB", ErrInvalid, maxSoul>>10)
	}
	t.Soul = string(soul)
	return t, t.validateFields()
}

func decodeManifest(text []byte) (m manifest, err error) {
	if len(text) > maxManifest || !utf8.Valid(text) {
		return m, fmt.Errorf("%w: template.toml must be UTF-8 text of at most %d KB", ErrInvalid, maxManifest>>10)
	}
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&m)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		return m, fmt.Errorf("%w: template.toml:%d: unknown key %s", ErrInvalid, line, sanitizeExcerpt(strings.Join(strict.Errors[0].Key(), "."), 80))
	}
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := bad.Position()
		return m, fmt.Errorf("%w: template.toml:%d: %s", ErrInvalid, line, sanitizeExcerpt(strings.TrimPrefix(bad.Error(), "toml: "), 200))
	}
	if err != nil {
		return m, fmt.Errorf("%w: template.toml: %s", ErrInvalid, sanitizeExcerpt(strings.TrimPrefix(err.Error(), "toml: "), 200))
	}
	return m, nil
}

func (t *Template) validateFields() error {
	if err := CheckName(t.Name); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	if t.Version == "" {
		t.Version = "0.1.0"
	}
	for what, text := range map[string]string{"description": t.Description, "version": t.Version, "author": t.Author} {
		if len(text) > maxText || strings.ContainsFunc(text, unicode.IsControl) {
			return bad("%s must be one line of at most %d characters", what, maxText)
		}
	}
	if t.Description == "" {
		return bad("the description is missing; set description in [template]")
	}
	if len(t.Goals) > maxThings || len(t.Schedules) > maxThings || len(t.Watchers) > maxThings || len(t.Config) > maxThings {
		return bad("more than %d goals, schedules, watchers or settings", maxThings)
	}
	for i := range t.Goals {
		if err := t.Goals[i].validateFields(); err != nil {
			return bad("goal %d: %v", i+1, err)
		}
	}
	for i, s := range t.Schedules {
		if err := s.validateFields(); err != nil {
			return bad("schedule %d: %v", i+1, err)
		}
	}
	for i, w := range t.Watchers {
		if err := w.validateFields(); err != nil {
			return bad("watcher %d: %v", i+1, err)
		}
	}
	return nil
}

// Fits reports whether text is short enough for a template.
func Fits(text string) bool { return len(text) <= maxText }

func (g *Goal) validateFields() error {
	g.Description = strings.TrimSpace(g.Description)
	if g.Priority == 0 {
		g.Priority = 3
	}
	switch every, err := time.ParseDuration(g.CheckEvery); {
	case g.Description == "" || len(g.Description) > maxText || len(g.Success) > maxText:
		return fmt.Errorf("description is missing or too long; description and success may be at most %d characters long", maxText)
	case g.Priority < 1 || g.Priority > 5:
		return errors.New("priority must be between 1 and 5")
	case g.CheckEvery != "" && (err != nil || every < time.Minute || every > 366*24*time.Hour):
		return errors.New(`check_every must be a duration from "1m" to a year, such as "30m"`)
	}
	return nil
}

func (s Schedule) validateFields() error {
	switch {
	case (s.Every == "") == (s.At == ""):
		return errors.New(`give exactly one of "every" and "at"`)
	case (strings.TrimSpace(s.Do) == "") == (strings.TrimSpace(s.Say) == ""):
		return errors.New(`give exactly one of "do" and "say"`)
	case len(s.Every+s.At) > 200 || len(s.Do+s.Say) > maxText:
		return fmt.Errorf("text is too long; do and say may be at most %d characters long, every and at 200", maxText)
	case s.Missed != "" && s.Missed != "run_once" && s.Missed != "skip" && s.Missed != "run_all":
		return errors.New(`missed must be "run_once", "skip" or "run_all"`)
	}
	return nil
}

func (w Watcher) validateFields() error {
	switch {
	case w.Kind == "" || len(w.Kind) > 40:
		return errors.New(`kind is missing; set one, such as "file"`)
	case w.Kind == "cron" || w.Kind == "oneshot":
		return errors.New("use a schedule for a fixed time")
	case len(w.Do) > maxText:
		return fmt.Errorf("do may be at most %d characters long", maxText)
	}
	return nil
}

// sanitizeExcerpt truncates s for an error message and removes terminal control characters.
func sanitizeExcerpt(s string, n int) string {
	r := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
	if len(r) > n {
		return string(r[:n]) + "..."
	}
	return string(r)
}
