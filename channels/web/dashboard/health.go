package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/sorting"
)

// healthPage shows the doctor's checks, and applies its fixes. It is not live, because the checks
// take time.
func (d *Dashboard) healthPage() page {
	return page{
		path: "/health", title: "Health", about: "What the doctor found, and what to do about it.",
		icon: "M3 12h4l2-5 4 10 2.5-5H21", show: d.showHealth,
		actions:  map[string]action{"fix": d.fixProblems},
		commands: []command{{"Check Hob's health", "/health"}},
	}
}

const (
	// examineTime limits the checks, so that a hanging server does not keep the page from appearing.
	examineTime = 7 * time.Second
	// fixTime limits the fixes of all checks.
	fixTime = 5 * time.Minute
)

// findingOrder lists the states of a finding, the most urgent first.
func findingOrder() []string { return []string{"fail", "warn", "skipped", "ok"} }

func (d *Dashboard) showHealth(r *request) (g.Node, error) {
	list, complete, err := d.runChecks(r.Context())
	if err != nil {
		return nil, err
	}
	status, err := d.o.Backend.Status(r.Context())
	if err != nil {
		return nil, err
	}
	byState := map[string][]api.Finding{}
	for _, f := range list {
		byState[f.State] = append(byState[f.State], f)
	}
	problems := slices.Concat(byState["fail"], byState["warn"])
	return h.Div(
		h.Class("stack"),
		renderVerdict(r, byState, complete),
		g.Iff(len(problems) > 0, func() g.Node {
			return cardSection("Needs attention", h.Ul(h.Class("list"), g.Map(problems, func(f api.Finding) g.Node { return renderFinding(r, f) })))
		}),
		cardSection("This Hob", renderStatus(r, status)),
		renderFolded(r, "Not checked", byState["skipped"]),
		renderFolded(r, "OK", byState["ok"]),
	), nil
}

// runChecks runs the checks and returns the findings, the most urgent first. complete is false if some
// checks did not end in time.
func (d *Dashboard) runChecks(ctx context.Context) (list []api.Finding, complete bool, err error) {
	checking, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	err = d.o.Backend.Examine(checking, nil, false, func(f api.Finding) { list = append(list, f) })
	if err != nil && (checking.Err() == nil || ctx.Err() != nil) {
		return nil, false, err
	}
	order := findingOrder()
	sorting.StableByFunc(list, func(x, y api.Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.State), slices.Index(order, y.State)), strings.Compare(x.Name, y.Name))
	})
	return list, checking.Err() == nil, nil
}

// renderVerdict says in one sentence how Hob is, and offers to fix all problems that can be fixed.
func renderVerdict(r *request, byState map[string][]api.Finding, complete bool) g.Node {
	failed, warned := len(byState["fail"]), len(byState["warn"])
	kind, text := badgeGood, "All checks passed"
	switch {
	case failed > 0:
		kind, text = badgeBad, countOf(failed, "check failed", "checks failed")
	case warned > 0:
		kind, text = badgeWarn, countOf(warned, "check needs attention", "checks need attention")
	case !complete:
		kind, text = badgeWarn, "Some checks did not finish"
	}
	fixable := 0
	for _, f := range slices.Concat(byState["fail"], byState["warn"]) {
		if f.Fixable {
			fixable++
		}
	}
	return h.Section(
		h.Class("card verdict"), h.Data("verdict", kind),
		h.P(h.Class("what"), h.Strong(g.Text(text)), h.Span(h.Class("soft small"), g.Text(fmt.Sprintf("%d OK, %d not checked", len(byState["ok"]), len(byState["skipped"]))))),
		h.Div(
			h.Class("acts"),
			h.A(h.Class("button"), h.Href("/health"), g.Text("Check again")),
			g.If(fixable > 1, r.actionButton("health/fix", "Fix all", h.Class("primary"))),
		),
		g.If(!complete, h.P(h.Class("small"), g.Text("Some checks took longer than "+strconv.Itoa(int(examineTime.Seconds()))+" s. Run all of them in a terminal: hob doctor"))),
	)
}

// countOf returns a number with its noun.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func renderFinding(r *request, f api.Finding) g.Node {
	kind, word := badgeSoft, f.State
	switch f.State {
	case "fail":
		kind, word = badgeBad, "failed"
	case "warn":
		kind, word = badgeWarn, "warning"
	case "ok":
		kind, word = badgeGood, "OK"
	case "skipped":
		word = "not checked"
	}
	return h.Li(
		h.Data("name", f.Name), h.Data("state", f.State),
		h.Span(h.Class("what"), h.Strong(plainText(capitalizeFirst(f.Name)))),
		stateBadge(kind, word),
		g.If(f.Fixable, h.Span(h.Class("acts small"), r.actionButton("health/fix", "Fix", h.Aria("label", "Fix: "+f.Name), fact{"name", f.Name}))),
		g.If(f.Cause != "", h.P(h.Class("full"), plainText(capitalizeProse(f.Cause)))),
		g.If(f.Fixed != "", h.P(h.Class("meta"), plainText(capitalizeProse(f.Fixed)))),
		g.If(f.Remedy != "", h.P(h.Class("meta"), h.Strong(g.Text("What to do: ")), plainText(f.Remedy))),
	)
}

// capitalizeProse capitalizes a text unless it begins with a path, a key or a command.
func capitalizeProse(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "hob" || strings.ContainsAny(first, "./\\_=-") {
		return s
	}
	return capitalizeFirst(s)
}

// renderFolded lists findings that need no attention, folded.
func renderFolded(r *request, title string, list []api.Finding) g.Node {
	if len(list) == 0 {
		return nil
	}
	return h.Section(h.Class("card"), h.Details(
		h.Summary(h.H2(g.Text(title)), h.Span(h.Class("soft small"), g.Text(countOf(len(list), "check", "checks")))),
		h.Ul(h.Class("list"), g.Map(list, func(f api.Finding) g.Node { return renderFinding(r, f) })),
	))
}

// renderStatus shows the version, the storage and the model.
func renderStatus(r *request, s api.Status) g.Node {
	running := "since " + r.formatTime(r.now.Add(-s.Uptime))
	if !s.Daemon {
		running = "only for this command"
	}
	memory := countOf(s.Rows, "row", "rows")
	if s.Behind > 0 {
		memory += ", " + strconv.Itoa(s.Behind) + " not in the index yet"
	}
	return factList(
		fact{"Version", s.Version},
		fact{"Running", running},
		fact{"Model", strings.TrimSuffix(s.Model+" ("+s.ModelReason+")", " ()")},
		fact{"Folder", s.Home},
		fact{"Database", formatSize(uint64(max(0, s.DatabaseSize))) + ", " + formatSize(s.DiskFree) + " free on the disk"},
		fact{"Memory", memory},
		fact{"Audit log", countOf(int(s.AuditLines), "line", "lines")},
		fact{"Machine", s.Machine},
	)
}

// formatSize returns a number of bytes with its unit.
func formatSize(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KB", (n+1<<10-1)>>10)
}

// fixProblems applies the fix of one check, or all fixes. The doctor's fixes lose no data.
func (d *Dashboard) fixProblems(r *request) (string, error) {
	var names []string
	if name := r.PostForm.Get("name"); name != "" {
		names = []string{name}
	}
	ctx, cancel := context.WithTimeout(r.Context(), fixTime)
	defer cancel()
	var fixed, open []string
	err := d.o.Backend.Examine(ctx, names, true, func(f api.Finding) {
		switch {
		case f.Fixed != "" && !slices.Contains(fixed, f.Fixed):
			fixed = append(fixed, f.Fixed)
		case f.State == "fail" || f.State == "warn" && f.Fixable:
			open = append(open, f.Name)
		}
	})
	switch {
	case err != nil:
		return "", err
	case len(fixed) == 0 && len(open) > 0:
		return "", fmt.Errorf("%s could not be fixed; see what to do below", strings.Join(open, ", "))
	case len(fixed) == 0:
		return "Nothing needs to be fixed.", nil
	}
	for i := range fixed {
		fixed[i] = asSentence(fixed[i])
	}
	return shortNotice(strings.Join(fixed, " ")), nil
}
