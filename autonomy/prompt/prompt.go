// Package prompt builds what a model is asked: one stable system block that
// ends with the identity, and the context that rides in the current message.
// What changes from turn to turn never enters the system block, so that each
// request is a byte prefix of the next. It reads no files itself: the texts
// are given.
package prompt

import (
	_ "embed" // the texts
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed system.md
var systemText string

//go:embed soul.md
var soulText string

// Options of New.
type Options struct {
	Name string // how the assistant is called
	Soul string // SOUL.md; empty: the built-in persona
	User string // USER.md; may be empty
}

// Builder makes prompts. It does not change and may be used concurrently.
type Builder struct {
	name   string
	system string
}

// New renders the stable parts.
func New(opt Options) (*Builder, error) {
	if opt.Name == "" {
		opt.Name = "Hob"
	}
	if strings.TrimSpace(opt.Soul) == "" {
		soul, err := render(soulText, opt)
		if err != nil {
			return nil, err
		}
		opt.Soul = soul
	}
	opt.Soul, opt.User = strings.TrimSpace(opt.Soul), strings.TrimSpace(opt.User)
	system, err := render(systemText, opt)
	if err != nil {
		return nil, err
	}
	return &Builder{name: opt.Name, system: system}, nil
}

func render(text string, opt Options) (string, error) {
	t, err := template.New("prompt").Parse(text)
	if err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, opt); err != nil {
		return "", fmt.Errorf("prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// System is the stable block.
func (b *Builder) System() string { return b.system }

// Name is how the assistant is called.
func (b *Builder) Name() string { return b.name }

// Now is the context of the current message: the owner's local time and zone,
// and what Hob said by itself since the last turn.
func (b *Builder) Now(now time.Time, told []string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "[context] It is %s (%s).", now.Format("Monday 2006-01-02 15:04"), zone(now))
	for _, t := range told {
		fmt.Fprintf(&s, "\n[context] Since the last message you told the owner: %s", t)
	}
	return s.String()
}

func zone(t time.Time) string {
	name := t.Location().String()
	if name == "Local" {
		name = t.Format("MST")
	}
	return name + ", UTC" + t.Format("-07:00")
}
