package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// approvalsPage shows what waits for the user's approval, the former decisions, and the grants.
func (d *Dashboard) approvalsPage() page {
	return page{
		path: "/approvals", title: "Approvals", icon: "M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6l7-3zm-3 9l2 2 4-4",
		live: true, show: d.showApprovals,
		count:   d.countPending,
		actions: map[string]action{"answer": d.answerApproval, "revoke": d.revokeGrant},
	}
}

func (d *Dashboard) countPending(ctx context.Context) (int, error) {
	list, err := d.o.Backend.Approvals(ctx, api.Query{State: "pending", Limit: pageRows})
	return len(list), err
}

func (d *Dashboard) showApprovals(r *request) (g.Node, error) {
	pending, err := d.o.Backend.Approvals(r.Context(), api.Query{State: "pending", Limit: pageRows})
	if err != nil {
		return nil, err
	}
	history, more, err := d.decidedApprovals(r, len(pending))
	if err != nil {
		return nil, err
	}
	grants, err := d.o.Backend.Grants(r.Context(), api.Query{Limit: pageRows})
	if err != nil {
		return nil, err
	}
	last := ""
	if len(history) > 0 {
		last = history[len(history)-1].ID
	}
	first := r.queryValue("before") == ""
	return h.Div(
		h.Class("stack"),
		g.If(first && len(pending) == 0, cardSection("", emptyState("Nothing to approve", "Hob asks here before it does something that needs your approval."))),
		g.If(first, renderBatches(r, pending)),
		g.If(first && len(grants) > 0, cardSection("Grants", h.P(h.Class("soft small"), g.Text("Calls that Hob may make without asking.")),
			h.Ul(h.Class("list"), g.Map(grants, func(x api.Grant) g.Node { return renderGrant(r, x) })))),
		g.If(len(history) > 0, cardSection("Decided", h.Ul(h.Class("list"), g.Map(history, func(a api.Approval) g.Node { return renderDecided(r, a) })), r.pagerLinks(more, last))),
	), nil
}

// decidedApprovals returns one page of the decided requests, and whether there are older ones.
func (d *Dashboard) decidedApprovals(r *request, pending int) (out []api.Approval, more bool, err error) {
	list, err := d.o.Backend.Approvals(r.Context(), api.Query{Before: r.queryValue("before"), Limit: pageRows + 1 + pending})
	out = slices.DeleteFunc(list, func(a api.Approval) bool { return a.State == "pending" })
	return out[:min(len(out), pageRows)], len(out) > pageRows, err
}

// renderBatches shows pending requests. Similar ones from one answer can be decided together.
func renderBatches(r *request, pending []api.Approval) g.Node {
	size := map[string]int{}
	for _, a := range pending {
		size[a.Batch]++
	}
	var out g.Group
	seen := map[string]bool{"": true}
	for _, a := range pending {
		if !seen[a.Batch] && size[a.Batch] > 1 {
			seen[a.Batch] = true
			n := strconv.Itoa(size[a.Batch])
			out = append(out, h.Section(h.Class("card row"), h.P(h.Class("what"), g.Text(n+" similar requests from one answer")),
				r.postForm("approvals/answer", h.Class("inline"), hiddenField("id", a.Batch), decisionButtons("Approve all "+n, "Deny all "+n))))
		}
		out = append(out, renderApproval(r, a))
	}
	return out
}

// renderApproval shows one request: the sentence, the buttons, the consequence and the cause; the
// details are folded unless the sentence is cut off.
func renderApproval(r *request, a api.Approval) g.Node {
	sentence := a.Sentence()
	return h.Article(
		h.Class("card approval"), h.ID("approval-"+a.ID), h.Data("approval", a.ID), h.Aria("label", "Approval request"),
		h.P(h.Class("sentence what"), plainText(sentence)),
		h.P(plainText(a.Consequence())),
		h.Div(h.Class("acts"), r.postForm("approvals/answer", h.Class("inline"), hiddenField("id", a.ID), decisionButtons("Approve", "Deny"))),
		h.P(h.Class("why soft small"), plainText(a.Cause()), g.Text(" Asked "), r.relativeTime(a.CreatedAt), g.If(!a.ExpiresAt.IsZero(), g.Group{g.Text(", expires "), r.relativeTime(a.ExpiresAt)}), g.Text(".")),
		h.Details(
			g.If(strings.HasSuffix(sentence, "…"), g.Attr("open")),
			h.Summary(g.Text("Details")),
			factList(
				fact{"Tool", a.Tool}, fact{"Arguments", indentJSON(a.Arguments)}, fact{"Effect", a.Why}, fact{"Runs", a.Exact}, fact{"Untrusted text", a.OriginNames()},
				fact{"Source", a.Source}, fact{"Conversation", a.Session}, fact{"Rule", a.Rule}, fact{"Request", a.ID},
			),
			h.P(h.A(h.Href(whyLink(a.Event)), h.Data("drawer", ""), g.Text("Why"))),
		),
		renderGrantForm(r, a),
	)
}

func decisionButtons(yes, no string) g.Node {
	return g.Group{
		h.Button(h.Type("submit"), h.Class("primary yes"), h.Name("approved"), h.Value("true"), g.Text(yes)),
		h.Button(h.Type("submit"), h.Class("no"), h.Name("approved"), h.Value("false"), g.Text(no)),
	}
}

// renderGrantForm lets the user approve this call and further ones like it.
func renderGrantForm(r *request, a api.Approval) g.Node {
	scopes := []option{{"session", "in this conversation"}, {"task", "in this task"}}
	if a.Pattern != "" {
		scopes = append(scopes, option{"pattern", "matching " + a.Pattern})
	}
	return h.Details(
		h.Summary(g.Text("Do not ask again")),
		r.postForm(
			"approvals/answer", h.Class("row"), hiddenField("id", a.ID), hiddenField("approved", "true"),
			labeledField("The same call", selectBox("scope", "session", scopes...)),
			labeledField("For", selectBox("expires", "1h", option{"1h", "1 hour"}, option{"8h", "8 hours"}, option{"24h", "1 day"}, option{"168h", "7 days"})),
			h.Button(h.Type("submit"), g.Text("Grant")),
		),
	)
}

// indentJSON formats JSON for reading.
func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func renderDecided(r *request, a api.Approval) g.Node {
	kind := badgeSoft
	switch a.State {
	case "approved":
		kind = badgeGood
	case "denied":
		kind = badgeBad
	}
	by := ""
	if a.DecidedBy != "" {
		by = " by " + a.DecidedBy
	}
	at := a.DecidedAt
	if at.IsZero() {
		at = a.CreatedAt
	}
	return h.Li(
		h.Span(h.Class("what"), plainText(a.Sentence())), stateBadge(kind, a.State),
		h.Span(h.Class("meta"), r.relativeTime(at), plainText(by+" · "), h.A(h.Href(whyLink(a.Event)), h.Data("drawer", ""), g.Text("Why"))),
	)
}

func renderGrant(r *request, x api.Grant) g.Node {
	what := x.Summary
	if x.Pattern != "" {
		what = strings.ReplaceAll(x.Tool, "_", " ") + ": " + x.Pattern
	}
	used := "never used"
	if x.Used > 0 {
		used = fmt.Sprintf("used %d times", x.Used)
	}
	return h.Li(
		h.Span(h.Class("what"), plainText(what)),
		h.Span(h.Class("acts small"), r.confirmButton("revoke-"+x.ID, "approvals/revoke", "Revoke", "Hob asks again before such a call.", fact{"grant", x.ID})),
		h.Span(h.Class("meta"), plainText("In "+x.Session+", "+used+", ends "), r.relativeTime(x.ExpiresAt)),
	)
}

// answerApproval decides a request or a batch.
func (d *Dashboard) answerApproval(r *request) (string, error) {
	approved := r.PostForm.Get("approved")
	if approved != "true" && approved != "false" {
		return "", fmt.Errorf("%w: the decision is missing; use one of the buttons", api.ErrInvalid)
	}
	a := api.Answer{Approved: approved == "true", By: r.by}
	if scope := r.PostForm.Get("scope"); scope != "" {
		a.Scope, a.Expires = scope, r.PostForm.Get("expires")
	}
	out, err := d.o.Backend.Answer(r.Context(), r.PostForm.Get("id"), a)
	if err != nil {
		return "", err
	}
	word := "Denied"
	if a.Approved {
		word = "Approved"
	}
	if n := len(out.Approvals); n > 1 {
		return fmt.Sprintf("%s %d requests.", word, n), nil
	}
	return word + ".", nil
}

func (d *Dashboard) revokeGrant(r *request) (string, error) {
	if _, err := d.o.Backend.Revoke(r.Context(), r.PostForm.Get("grant"), r.by); err != nil {
		return "", err
	}
	return "Revoked. Hob asks again before such a call.", nil
}
