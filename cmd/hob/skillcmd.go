package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/skills"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/platform/text/textnorm"
)

func (a *cli) skillCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the skills", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.listSkills() }),
	})
	show := a.addJSONFlag(&cobra.Command{
		Use: "show NAME", Short: "Show a skill and what it may do", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSkills,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.showSkill(c.Context(), args[0]) }),
	})
	check := a.addJSONFlag(&cobra.Command{
		Use: "check [FOLDER|NAME]", Short: "Check skills for mistakes and suspicious text", Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeSkills,
		RunE: a.runCommand(func(_ *cobra.Command, args []string) error { return a.checkSkills(args) }),
	})
	var o skills.AddOptions
	var within string
	add := a.addJSONFlag(&cobra.Command{
		Use: "add FOLDER|ARCHIVE|URL", Short: "Add and trust a skill", Args: cobra.ExactArgs(1), SuggestFor: []string{"install"},
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.addSkill(c.Context(), args[0], within, o) }),
	})
	add.Flags().StringVar(&within, "path", "", "folder of the skill inside the archive or repository")
	add.Flags().BoolVar(&o.Replace, "replace", false, "replace an existing skill with the same name")
	add.Flags().BoolVar(&o.Trust, "trust", false, "trust the skill even if the scan found something suspicious")
	trust := a.addJSONFlag(&cobra.Command{
		Use: "trust NAME", Short: "Trust a skill with its present files", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSkills,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.trustSkill(c.Context(), args[0]) }),
	})
	remove := a.addJSONFlag(&cobra.Command{
		Use: "remove NAME", Short: "Delete a skill with all its files", Args: cobra.ExactArgs(1), ValidArgsFunction: completeSkills,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.removeSkill(c.Context(), args[0]) }),
	})
	return a.commandGroup(&cobra.Command{Use: "skill", Short: "Manage skills", SuggestFor: []string{"skills"}}, list, show, add, check, trust, remove)
}

func skillHome() (skills.Home, error) {
	p, err := system.DefaultPaths()
	return skills.Home{Paths: p}, err
}

func completeSkills(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	h, err := skillHome()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []string
	for _, s := range h.Library().List() {
		out = append(out, s.Name+"\t"+s.Description)
	}
	return out, cobra.ShellCompDirectiveDefault
}

// skillRow is the output for one skill with --json.
type skillRow struct {
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Trusted       bool              `json:"trusted"`
	State         string            `json:"state"`
	Origin        string            `json:"origin"`
	From          string            `json:"from,omitempty"`
	Folder        string            `json:"folder,omitempty"`
	Problem       string            `json:"problem,omitempty"`
	License       string            `json:"license,omitempty"`
	Compatibility string            `json:"compatibility,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	Triggers      []string          `json:"triggers,omitempty"`
	AllowedTools  []string          `json:"allowed_tools,omitempty"`
	Digest        string            `json:"digest,omitempty"`
	TrustedAt     time.Time         `json:"trusted_at,omitzero"`
	Files         []string          `json:"files,omitempty"`
	Scripts       []string          `json:"scripts,omitempty"`
	Hosts         []string          `json:"hosts,omitempty"`
	Findings      []skills.Finding  `json:"findings,omitempty"`
	Text          string            `json:"text,omitempty"`
}

func newSkillRow(s skills.Skill) skillRow {
	r := skillRow{
		Name: s.Name, Description: s.Description, Trusted: s.Trusted(), State: s.State, Origin: s.Origin, From: s.From, Folder: s.Dir, Problem: s.Problem,
		License: s.License, Compatibility: s.Compatibility, Metadata: s.Metadata, Triggers: s.Triggers, Digest: s.Digest, TrustedAt: s.Added,
	}
	for _, t := range s.Allowed {
		r.AllowedTools = append(r.AllowedTools, t.String())
	}
	for _, f := range s.Files {
		r.Files = append(r.Files, f.Path)
	}
	return r
}

func newReportRow(r skills.Report) skillRow {
	out := newSkillRow(r.Skill)
	out.Scripts, out.Hosts, out.Findings = r.Scripts, r.Hosts, r.Findings
	return out
}

func (a *cli) listSkills() error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	rows := []skillRow{}
	for _, s := range h.Library().List() {
		rows = append(rows, newSkillRow(s))
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "No skills. Write one or find one, then: hob skill add FOLDER (the format: hob skill add --help)")
		return nil
	}
	printTable(a, rows, "NAME|STATE|FROM|ABOUT", func(r skillRow) []any {
		about := r.Description
		if r.Problem != "" {
			about = r.Problem
		}
		return []any{r.Name, r.State, r.Origin, about}
	})
	for _, r := range rows {
		if r.Origin == skills.FromFolder && !r.Trusted && r.State != skills.StateInvalid {
			fmt.Fprintln(a.out, "Skills that are not trusted count as untrusted text. Review one with `hob skill show NAME`, then run: hob skill trust NAME")
			break
		}
	}
	return nil
}

// skillError adds the exit code to an error.
func skillError(err error) error {
	if errors.Is(err, skills.ErrInvalid) || errors.Is(err, skills.ErrNotFound) || errors.Is(err, skills.ErrExists) {
		cause, remedy := textnorm.SplitRemedy(err.Error())
		return &failure{code: exitFailed, err: err, cause: cause, remedy: remedy}
	}
	return err
}

func (a *cli) showSkill(ctx context.Context, name string) error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	l := h.Library()
	s, err := l.Get(name)
	if err != nil {
		return skillError(err)
	}
	row := newSkillRow(s)
	if s.State != skills.StateInvalid {
		if s.Dir != "" {
			r, err := skills.ReadFolder(s.Dir)
			if err != nil {
				return skillError(err)
			}
			state := row.State
			row = newReportRow(r)
			row.State, row.Trusted, row.From, row.TrustedAt, row.Text = state, s.Trusted(), s.From, s.Added, r.Body
		} else if row.Text, _, err = l.Body(ctx, name); err != nil {
			return skillError(err)
		}
	}
	if a.asJSON {
		return a.printJSON(row)
	}
	a.printSkill(row)
	if row.Text != "" {
		fmt.Fprintf(a.out, "\n%s\n", sanitizePrintable(row.Text))
	}
	return nil
}

// printSkill shows what a skill is and what it may do.
func (a *cli) printSkill(r skillRow) {
	tools := "not restricted by this skill; your rules and approvals apply"
	if r.AllowedTools != nil {
		tools = "only " + strings.Join(r.AllowedTools, " ") + "; your rules and approvals apply"
	}
	for _, l := range []struct{ name, value string }{
		{"name", r.Name},
		{"about", r.Description},
		{"state", r.State},
		{"problem", r.Problem},
		{"from", r.From},
		{"license", r.License},
		{"needs", r.Compatibility},
		{"triggers", strings.Join(r.Triggers, ", ")},
		{"tools", tools},
		{"scripts", strings.Join(r.Scripts, ", ")},
		{"hosts", strings.Join(r.Hosts, ", ")},
	} {
		if l.value != "" {
			fmt.Fprintf(a.out, "%-9s %s\n", l.name+":", sanitizePrintable(oneLine(l.value)))
		}
	}
	for _, f := range r.Findings {
		a.printFinding(f)
	}
}

func (a *cli) printFinding(f skills.Finding) {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	fmt.Fprintf(a.out, "%s%s %s\n", a.colorize(a.out, amber, "suspicious: "), sanitizePrintable(at), sanitizePrintable(f.What))
}

// checkSkills checks one folder, one skill by name, or all skills.
func (a *cli) checkSkills(args []string) error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	type result struct {
		Name     string           `json:"name"`
		OK       bool             `json:"ok"`
		Problem  string           `json:"problem,omitempty"`
		Findings []skills.Finding `json:"findings,omitempty"`
	}
	var out []result
	var last error
	check := func(name, dir string) {
		r, err := skills.ReadFolder(dir)
		if err != nil {
			last = err
			out = append(out, result{Name: name, Problem: err.Error()})
			return
		}
		out = append(out, result{Name: r.Name, OK: true, Findings: r.Findings})
	}
	if len(args) == 1 {
		dir := args[0]
		if _, err := os.Stat(dir); err != nil || !strings.ContainsAny(dir, `/\`) {
			if s, err := h.Library().Get(dir); err == nil && s.Dir != "" {
				dir = s.Dir
			}
		}
		check(args[0], dir)
	} else {
		for _, s := range h.Library().List() {
			if s.Dir != "" {
				check(s.Name, s.Dir)
			}
		}
	}
	if a.asJSON {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, r := range out {
			switch {
			case r.OK:
				fmt.Fprintf(a.out, "%s: valid\n", sanitizePrintable(r.Name))
			case len(args) == 0:
				fmt.Fprintf(a.out, "%s: %s\n", sanitizePrintable(r.Name), sanitizePrintable(r.Problem))
			}
			for _, f := range r.Findings {
				a.printFinding(f)
			}
		}
		if len(out) == 0 {
			fmt.Fprintln(a.out, "No skills to check.")
		}
	}
	if last != nil && len(args) == 0 {
		return &failure{code: exitFailed, cause: "some skills are invalid", remedy: "fix the files, or remove a skill: hob skill remove NAME"}
	}
	return skillError(last)
}

func (a *cli) addSkill(ctx context.Context, place, within string, o skills.AddOptions) error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	src := skills.Source{}
	if strings.Contains(place, "://") {
		p, c, err := a.loadHome()
		if err != nil {
			return err
		}
		if src.Network, err = c.Network.Client(ctx, vault.SecretsFor(p)); err != nil {
			return err
		}
	}
	c, err := src.Read(ctx, place, within)
	if err != nil {
		return skillError(err)
	}
	_, missing := h.Library().Get(c.Name)
	replaced := missing == nil // the addition cannot be undone
	trusted, err := h.Add(ctx, c, o)
	if err != nil {
		return skillError(err)
	}
	record := api.TrustRecord{Kind: "skill", Items: []api.TrustedItem{{Name: c.Name, Digest: c.Digest}}, Added: !replaced, Untrusted: !replaced && !trusted}
	if trusted || record.Added {
		if err := a.recordTrust(ctx, record); err != nil {
			return err
		}
	}
	row := newReportRow(c.Report)
	row.Trusted, row.State, row.Folder = trusted, skills.StateUntrusted, ""
	if trusted {
		row.State = skills.StateTrusted
	}
	if a.asJSON {
		return a.printJSON(row)
	}
	a.printSkill(row)
	if !trusted {
		fmt.Fprintf(a.out, "Added %s, but its text stays untrusted because of the suspicious places. Review it with `hob skill show %[1]s`, then run: hob skill trust %[1]s\n", row.Name)
		return nil
	}
	fmt.Fprintf(a.out, "Added and trusted %s. A language model reads it when your message matches.\n", row.Name)
	return nil
}

func (a *cli) trustSkill(ctx context.Context, name string) error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	r, err := h.Trust(ctx, name)
	if err != nil {
		return skillError(err)
	}
	if err := a.recordTrust(ctx, api.TrustRecord{Kind: "skill", Items: []api.TrustedItem{{Name: r.Name, Digest: r.Digest}}}); err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(newReportRow(r))
	}
	for _, f := range r.Findings {
		a.printFinding(f)
	}
	fmt.Fprintf(a.out, "%s is now trusted. If any of its files changes, it becomes untrusted again.\n", r.Name)
	return nil
}

func (a *cli) removeSkill(ctx context.Context, name string) error {
	h, err := skillHome()
	if err != nil {
		return err
	}
	if err := h.Remove(ctx, name); err != nil {
		return skillError(err)
	}
	if a.asJSON {
		return a.printJSON(map[string]string{"removed": name})
	}
	fmt.Fprintf(a.out, "Removed %s with all its files.\n", sanitizePrintable(name))
	return nil
}
