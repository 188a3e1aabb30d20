package prompt

import (
	"context"
	_ "embed" // embeds the templates
	"errors"
	"strings"
	"time"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/credential"
	"hob/platform/text/minitmpl"
)

//go:embed context.tmpl
var contextText string

// Limits of the context of one message.
const (
	shownLessons  = 5  // lessons in a message
	remindedAfter = 19 // real turns before the identity is repeated
)

// contextCollector collects the context of one message.
type contextCollector struct {
	b        *Builder
	ctx      context.Context
	s        TurnContext
	texts    *minitmpl.Template
	identity string // present identity, which the request contains
	sections []section
	lessons  []string // ids of lessons that may be shown
}

// selectedContext is the context after the budget is applied.
type selectedContext struct {
	parts   []llm.Part
	lessons []string // ids of the shown lessons
}

// collectContext collects all context that could help with the turn. It keeps the part that fits in
// the budget, in reading order.
func (b *Builder) collectContext(ctx context.Context, s TurnContext, p *pinnedBlock, now block) selectedContext {
	g := &contextCollector{b: b, ctx: ctx, s: s, texts: b.texts, identity: now.who}
	info := b.o.Model(ctx)
	if !s.Guest && info.Provider != llm.Offline { // the built-in brain reads only the message
		g.addMemory()
		g.addLessons()
		g.addSkills()
		g.addProject()
	}
	g.addIdentity(p, now)
	g.addSection(kindNow, provenance.Hob, "now", s.Now.Format("Monday 2006-01-02 15:04")+" ("+zoneName(s.Now)+")")
	if len(s.Told) > 0 {
		g.addSection(kindTold, provenance.Hob, "told", s.Told)
	}
	if s.Turns-p.base >= remindedAfter {
		g.addSection(kindReminder, provenance.Hob, "reminder", b.o.Name)
	}
	kept := fitSections(g.sections, budgetFor(info.Context))
	out := selectedContext{}
	for _, k := range kept {
		out.parts = append(out.parts, llm.Part{Text: k.text, Source: k.source, Origins: k.from, Context: true, Skill: k.skill})
		if k.kind == kindLessons {
			out.lessons = g.lessons
		}
	}
	return out
}

// addSection renders a section and cuts it to the share of its kind.
func (g *contextCollector) addSection(k kind, src provenance.Source, name string, data any) {
	var b strings.Builder
	if err := g.texts.ExecuteTemplate(&b, name, data); err != nil {
		g.logFailure(name, err)
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
	if text == "" || isShownOnce(k) && g.isInWindow(text) {
		return
	}
	g.sections = append(g.sections, section{kind: k, text: text, source: src})
}

// setOrigins sets the origins of the section that was added last.
func (g *contextCollector) setOrigins(k kind, list ...provenance.Origin) {
	if n := len(g.sections); n > 0 && g.sections[n-1].kind == k {
		g.sections[n-1].from = provenance.Join(list)
	}
}

// isShownOnce reports whether sections of this kind are omitted while they are already in the
// window.
func isShownOnce(k kind) bool { return k == kindOwner || k == kindProject }

// isInWindow reports whether the conversation's window already contains these lines as context. If
// so, each request includes them anyway.
func (g *contextCollector) isInWindow(text string) bool {
	for _, m := range g.s.Before {
		for _, p := range m.Parts {
			if p.Context && strings.Contains(p.Text, text) {
				return true
			}
		}
	}
	return false
}

// logFailure logs a failed lookup; the turn continues without it.
func (g *contextCollector) logFailure(what string, err error) {
	if what == "project" {
		err = withoutPath(err)
	}
	g.b.o.Log.Warn("lookup for the context of a request failed", "what", what, "session", g.s.Session, "err", err)
}

// oneLine joins s into one line so that it cannot look like a section of the prompt.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 500 {
		return headLines(s, 500) + "…"
	}
	return s
}

// cleanSource returns the provenance of text that Hob wrote. Such text is not an instruction from
// anyone. It is trusted unless it repeats untrusted text.
func cleanSource(src provenance.Source) provenance.Source {
	if src.Tainted() {
		return provenance.Outside
	}
	return provenance.Hob
}

func (g *contextCollector) addLessons() {
	if g.b.o.Lessons == nil {
		return
	}
	list, err := g.b.o.Lessons.RelevantLessons(g.ctx, g.s.Realm, g.s.Text, shownLessons)
	if err != nil {
		g.logFailure("lessons", err)
	}
	var lines []string
	viewer := credential.AskedBy(g.s.OwnerWords...)
	for _, n := range list {
		if line := oneLine(n.Text); !n.Source.Tainted() && !viewer.Hides("", line) && !g.isInWindow("- "+line) {
			lines = append(lines, line)
			g.lessons = append(g.lessons, n.ID)
		}
	}
	if len(lines) > 0 {
		g.addSection(kindLessons, provenance.Hob, "lessons", lines)
	}
	line, err := g.b.o.Lessons.ProfileLine(g.ctx, !g.s.Attended)
	switch {
	case err != nil:
		g.logFailure("owner", err)
	case line != "":
		g.addSection(kindOwner, provenance.Hob, "owner", oneLine(line))
	}
}

func (g *contextCollector) addSkills() {
	if g.b.o.Skills == nil {
		return
	}
	list, err := g.b.o.Skills.Matching(g.ctx, g.s.Text)
	if err != nil {
		g.logFailure("skills", err)
		return
	}
	for _, n := range list {
		n.Title, n.Text = oneLine(n.Title), shortenLines(n.Text, maxSkill)
		name := "skill"
		if g.isInWindow(n.Text) {
			name = "skill-again"
		}
		g.addSection(kindSkill, cleanSource(n.Source), name, n)
		if last := len(g.sections) - 1; last >= 0 && g.sections[last].kind == kindSkill {
			g.sections[last].skill = n.ID
		}
		if n.Source.Tainted() {
			g.setOrigins(kindSkill, provenance.Origin{Kind: "skill", Label: n.Title})
		}
	}
}

// addProject adds the AGENTS.md file of the project that the owner names, or else of the project
// that contains the last used file.
func (g *contextCollector) addProject() {
	if g.b.o.Projects == nil {
		return
	}
	var paths []string
	if g.s.Source == provenance.Owner {
		paths = namedPaths(g.s.Text)
	}
	paths = append(paths, g.b.usedPaths(g.s.Before)...)
	for _, path := range paths {
		n, ok, err := g.b.o.Projects.Nearest(path)
		if err != nil {
			g.logFailure("project", err)
			return
		}
		if !ok {
			continue
		}
		n.Text = shortenLines(n.Text, maxProject)
		name := "project"
		if n.Source.Tainted() {
			name, n.Text = "outside-project", quoteSection(n.Text)
		}
		n.Title = oneLine(n.Title)
		g.addSection(kindProject, cleanSource(n.Source), name, n)
		if n.Source.Tainted() {
			g.setOrigins(kindProject, provenance.Origin{Kind: "file", Label: n.Title})
		}
		return
	}
}

// quoteSection prevents s from closing its own section.
func quoteSection(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ")
}

// addIdentity adds the current identity to a conversation that received a different one earlier,
// once for each change.
func (g *contextCollector) addIdentity(p *pinnedBlock, now block) {
	if p.told == now.identity {
		return
	}
	p.told, p.fresh = now.identity, true
	if p.identity == now.identity && len(g.s.Before) == 0 {
		return
	}
	g.addSection(kindIdentity, provenance.Hob, "identity", now.who)
}

func zoneName(t time.Time) string {
	name := t.Location().String()
	if name == "Local" {
		name = t.Format("MST")
	}
	return name + ", UTC" + t.Format("-07:00")
}

// withoutPath returns only the cause of err. A path may contain words from a message, and the log
// must not contain message text.
func withoutPath(err error) error {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return err
		}
		err = cause
	}
}
