package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/platform/host/system"
	"hob/platform/text/injection"
	"hob/templates"
)

// suspiciousPatterns returns the attack patterns in a template's text. Built-in templates are
// trusted.
func suspiciousPatterns(t *templates.Template) []string {
	out := []string{}
	if !isForeign(t) {
		return out
	}
	texts := []string{t.Soul, t.Description}
	for _, g := range t.Goals {
		texts = append(texts, g.Description, g.Success)
	}
	for _, s := range t.Schedules {
		texts = append(texts, s.Do, s.Say)
	}
	for _, w := range t.Watchers {
		texts = append(texts, w.Do)
	}
	for _, s := range texts {
		for _, m := range injection.Scan(s) {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	slices.Sort(out)
	return out
}

// isForeign reports whether a template is not built in.
func isForeign(t *templates.Template) bool { return t != nil && t.Origin != templates.Builtin }

// soulLooksBad reports whether the personality of a foreign template contains attack patterns.
func soulLooksBad(t *templates.Template) bool {
	return isForeign(t) && len(injection.Scan(t.Soul)) > 0
}

// yesOrNo asks on a terminal. asked is false if there is no terminal.
func (a *cli) yesOrNo(ctx context.Context, question string) (yes, asked bool, err error) {
	s, asked, err := a.readAnswer(ctx, question+" [y/N] ")
	return s == "y" || s == "yes", asked, err
}

// typedYes is like yesOrNo but accepts only the full word "yes".
func (a *cli) typedYes(ctx context.Context, question string) (yes, asked bool, err error) {
	s, asked, err := a.readAnswer(ctx, question+" [type yes] ")
	return s == "yes", asked, err
}

// readAnswer returns the user's input in lower case.
func (a *cli) readAnswer(ctx context.Context, question string) (answer string, asked bool, err error) {
	_, in := terminalFD(a.in)
	if _, out := terminalFD(a.err); !in || !out {
		return "", false, nil
	}
	fmt.Fprint(a.err, question)
	got := make(chan string, 1)
	go func() { // if no answer arrives, this goroutine ends with the process
		s, _ := bufio.NewReader(a.in).ReadString('\n') // a read error does not count as approval
		got <- s
	}()
	select {
	case <-ctx.Done():
		return "", true, ctx.Err()
	case s := <-got:
		return strings.ToLower(strings.TrimSpace(s)), true, nil
	}
}

// colorDiff prints a diff, with colors on a terminal.
func (a *cli) colorDiff(diff string) {
	for line := range strings.Lines(diff) {
		line = sanitizePrintable(strings.TrimSuffix(line, "\n"))
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			line = a.colorize(a.out, bold, line)
		case strings.HasPrefix(line, "@@"):
			line = a.colorize(a.out, dim, line)
		case strings.HasPrefix(line, "+"):
			line = a.colorize(a.out, green, line)
		case strings.HasPrefix(line, "-"):
			line = a.colorize(a.out, red, line)
		}
		fmt.Fprintln(a.out, line)
	}
}

// printPreview shows the changes that use or reset would make. diff shows the files line by line.
func (a *cli) printPreview(plan *templates.Plan, t *templates.Template, diff bool) {
	switch {
	case t == nil:
		fmt.Fprintf(a.out, "Resetting %s would make these changes:\n\n", plan.Was)
	case plan.Was != "" && plan.Was != t.Name:
		fmt.Fprintf(a.out, "%s (%s) instead of %s: %s\n\n", t.Name, t.Version, plan.Was, sanitizePrintable(t.Description))
	default:
		fmt.Fprintf(a.out, "%s (%s): %s\n\n", t.Name, t.Version, sanitizePrintable(t.Description))
	}
	a.printForeignNotice(t)
	if isForeign(t) { // the items are listed below
		a.printRequirements(t)
		fmt.Fprintln(a.out)
	}
	n := plan.Soul.ChangedLines()
	switch {
	case plan.Soul.Diff == "" && plan.Config.Diff == "":
		fmt.Fprintln(a.out, "SOUL.md and config.toml do not change.")
	case diff:
		a.colorDiff(plan.Soul.Diff)
		a.colorDiff(plan.Config.Diff)
	case n > 0:
		fmt.Fprintf(a.out, "changes the personality in SOUL.md (%s; --diff shows them)\n", countText(n, "line", "lines"))
	}
	for _, line := range plan.Lines() {
		for _, mark := range []string{"yours:", "conflict:"} {
			if rest, ok := strings.CutPrefix(line, mark); ok {
				line = a.colorize(a.out, amber, mark) + rest
			}
		}
		fmt.Fprintln(a.out, line)
	}
}

// printForeignNotice prints a warning about a template that is not built in.
func (a *cli) printForeignNotice(t *templates.Template) {
	if !isForeign(t) {
		return
	}
	fmt.Fprintf(a.out, "The template is not built in (%s). The actions of its schedules, watchers and goals count as untrusted text.\nIts SOUL.md becomes part of every conversation: read the file.\n", sanitizePrintable(t.Path))
	if m := suspiciousPatterns(t); len(m) > 0 {
		fmt.Fprintf(a.out, "%s the text of the template looks like an attack on the model: %s\n", a.colorize(a.out, red, "careful:"), strings.Join(m, ", "))
	}
	fmt.Fprintln(a.out)
}

// printRequirements prints all requirements of a template in full.
func (a *cli) printRequirements(t *templates.Template) {
	fmt.Fprintln(a.out, "Requirements:")
	for _, s := range t.Asks() {
		fmt.Fprintln(a.out, "  "+oneLine(s))
	}
}

// printApplied prints the changes that were made.
func (a *cli) printApplied(plan *templates.Plan, d templates.ApplyResult, kept []string) {
	if plan.Template == "" {
		fmt.Fprintf(a.out, "\nReset the template %s.\n", plan.Was)
	} else {
		fmt.Fprintf(a.out, "\nThe template %s is active: %s created, %d removed. Revert with: hob template reset\n", plan.Template, countText(len(d.Made), "item", "items"), len(d.Removed))
	}
	for _, path := range kept {
		fmt.Fprintln(a.out, "kept: "+path)
	}
}

// showTemplate prints the contents and the requirements of a template.
func (a *cli) showTemplate(ref string) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	t, err := templateShelf(p).Find(ref)
	if err != nil {
		return templateError(err)
	}
	if a.asJSON {
		return a.printJSON(struct {
			*templates.Template
			Asks  []string `json:"asks"`
			Marks []string `json:"marks"`
		}{t, t.Asks(), suspiciousPatterns(t)})
	}
	fmt.Fprintf(a.out, "%s %s", a.colorize(a.out, bold, t.Name), t.Version)
	if t.Author != "" {
		fmt.Fprintf(a.out, " by %s", oneLine(t.Author))
	}
	fmt.Fprintf(a.out, " (%s)\n%s\n\n", t.Origin, oneLine(t.Description))
	a.printForeignNotice(t)
	a.printRequirements(t)
	if t.Soul != "" {
		fmt.Fprintf(a.out, "\nIts personality:\n\n%s\n", strings.TrimSpace(sanitizePrintable(t.Soul)))
	}
	return nil
}
