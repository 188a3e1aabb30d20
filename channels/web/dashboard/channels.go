package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/textnorm"
)

// channelsPage shows the channels with the paired accounts, the MCP servers and the skills.
func (d *Dashboard) channelsPage() page {
	return page{
		path: "/channels", title: "Channels", about: "Where Hob reaches you, and what it connects to.",
		icon: "M12 18v2M8 21h8M12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.8 16.2a6 6 0 1 1 8.4 0M5 19a10 10 0 1 1 14 0", live: true, show: d.showChannels,
		actions: map[string]action{
			"pair": d.pairAccount, "unpair": d.unpairAccount, "test": d.testChannel,
			"test-server": d.testServer, "trust-server": d.trustServer,
		},
		saves: map[string]action{"account": d.addAccount, "skill": d.addSkill},
		commands: []command{
			{"Pair an account", "/channels"}, {"Connect a mail account", "/channels#mail"}, {"See MCP servers", "/channels#servers"}, {"Add a skill", "/channels#skills"},
		},
	}
}

func (d *Dashboard) showChannels(r *request) (g.Node, error) {
	rows, err := d.o.Backend.Channels(r.Context())
	if err != nil {
		return nil, err
	}
	servers, err := d.renderServers(r)
	if err != nil {
		return nil, err
	}
	skills, err := d.o.Backend.Skills(r.Context())
	if err != nil {
		return nil, err
	}
	accounts, err := d.o.Backend.MailAccounts(r.Context())
	if err != nil {
		return nil, err
	}
	var used, unused []api.Channel
	for _, c := range rows {
		switch {
		case c.Configured || c.Enabled:
			used = append(used, c)
		case c.Available:
			unused = append(unused, c)
		}
	}
	return h.Div(
		h.Class("stack"),
		d.renderRestart(r),
		cardSection("Channels", h.Ul(h.Class("list"), g.Map(used, func(c api.Channel) g.Node { return renderChannel(r, c) }))),
		g.Iff(len(unused) > 0, func() g.Node { return renderUnused(unused) }),
		d.renderMail(r, accounts),
		d.renderSkills(r, skills),
		servers,
	), nil
}

// renderMail lists the mail and calendar accounts, with a form that connects one.
func (d *Dashboard) renderMail(r *request, accounts []api.MailAccount) g.Node {
	return h.Section(
		h.Class("card"), h.ID("mail"), h.H2(g.Text("Mail and calendars")),
		g.Iff(len(accounts) > 0, func() g.Node { return h.Ul(h.Class("list"), g.Map(accounts, renderMailAccount)) }),
		d.renderAccountForm(r, len(accounts) == 0),
	)
}

// renderMailAccount shows one account with its servers, and what it lacks.
func renderMailAccount(x api.MailAccount) g.Node {
	state := stateBadge(badgeSoft, "in use")
	switch {
	case x.Missing != "":
		state = stateBadge(badgeBad, "incomplete")
	case x.Pending == api.PendingRestart:
		state = stateBadge(badgeWarn, "used after the restart")
	case x.Pending != "":
		state = stateBadge(badgeWarn, "used after the next start")
	}
	return h.Li(
		h.Data("name", x.Name),
		h.Span(h.Class("what"), h.Strong(plainText(x.Address)), h.Span(h.Class("soft"), plainText(" "+x.Name))),
		state,
		h.P(h.Class("meta"), plainText(strings.Join(x.Servers, " · "))),
		g.If(x.Missing != "", h.P(h.Class("full failed"), plainText(capitalizeProse(x.Missing)+"."))),
	)
}

// renderUnused lists the channels that are not set up, folded. Setting one up asks for secrets, which
// belong into the terminal.
func renderUnused(list []api.Channel) g.Node {
	return h.Section(h.Class("card"), h.Details(
		h.Summary(h.H2(g.Text("Not set up")), h.Span(h.Class("soft small"), g.Text(countOf(len(list), "channel", "channels")))),
		h.P(h.Class("soft small"), g.Text("Set one up in a terminal: "), h.Code(g.Text("hob channel add NAME"))),
		h.Ul(h.Class("list"), g.Map(list, func(c api.Channel) g.Node {
			return h.Li(h.Strong(plainText(c.Name)), h.Span(h.Class("what soft"), plainText(c.About)))
		})),
	))
}

// channelBadge describes the state of a channel.
func channelBadge(state string) g.Node {
	switch state {
	case "running":
		return stateBadge(badgeGood, "works")
	case "starting":
		return stateBadge(badgeAccent, "starting")
	case "waiting":
		return stateBadge(badgeWarn, "failed, retrying")
	case "stopped":
		return stateBadge(badgeBad, "stopped")
	case "failed":
		return stateBadge(badgeBad, "cannot be used")
	case "idle":
		return stateBadge(badgeWarn, "not running")
	}
	return stateBadge(badgeSoft, state)
}

// renderChannel shows a channel with its accounts. The page and the terminal need no pairing and no
// test.
func renderChannel(r *request, c api.Channel) g.Node {
	local := c.Name == "web" || c.Name == "terminal"
	usable := !slices.Contains([]string{"failed", "idle", "off"}, c.State)
	remedy := c.Remedy
	cause := cmp.Or(c.Cause, c.Error)
	name := fact{"channel", c.Name}
	return h.Li(
		h.Data("name", c.Name), h.Data("state", c.State),
		h.Span(h.Class("what"), h.Strong(plainText(c.Name)), h.Span(h.Class("soft"), plainText(" "+c.About))),
		channelBadge(c.State),
		g.Iff(!local, func() g.Node {
			return h.Span(
				h.Class("acts small"),
				g.If(usable && !c.Pull && !c.Deaf, r.actionButton("channels/pair", "Pair", h.Aria("label", "Pair an account on "+c.Name), name)),
				r.actionButton("channels/test", "Test", h.Aria("label", "Test "+c.Name), name),
				g.If(usable && (c.Deaf || len(c.Pairings) > 0), r.actionButton("channels/test", "Send test message", h.Aria("label", "Send a test message on "+c.Name), name, fact{"send", "true"})),
			)
		}),
		g.If(c.Describe != "", h.P(h.Class("meta"), plainText(c.Describe))),
		g.If(describeTraffic(r, c) != "", h.P(h.Class("meta"), plainText(describeTraffic(r, c)))),
		g.If(cause != "", h.P(h.Class("full failed"), plainText(capitalizeProse(cause)))),
		g.If(remedy != "", h.P(h.Class("meta"), h.Strong(g.Text("What to do: ")), plainText(remedy))),
		g.Map(c.Pairings, func(p api.Pairing) g.Node { return renderPairing(r, p) }),
	)
}

// describeTraffic summarizes the received and sent messages.
func describeTraffic(r *request, c api.Channel) string {
	var parts []string
	add := func(n int, one, many, more string) {
		if n > 0 {
			parts = append(parts, countOf(n, one, many)+more)
		}
	}
	last := ""
	if !c.HeardAt.IsZero() {
		last = ", the last " + r.formatRelative(c.HeardAt)
	}
	add(c.Heard, "message received", "messages received", last)
	if last = ""; !c.SentAt.IsZero() {
		last = ", the last " + r.formatRelative(c.SentAt)
	}
	add(c.Sent, "text sent", "texts sent", last)
	add(c.Queued, "waiting to be sent", "waiting to be sent", "")
	add(c.Refused, "message from an unknown sender rejected", "messages from unknown senders rejected", "")
	return strings.Join(parts, " · ")
}

// renderPairing shows a paired account, which has the user's rights.
func renderPairing(r *request, p api.Pairing) g.Node {
	name := cmp.Or(p.Name, p.Sender)
	return h.Div(
		h.Class("full row account"),
		h.Span(h.Class("what"), g.Text("Your account: "), plainText(name), h.Span(h.Class("soft small"), g.Text(" since "+r.formatTime(p.CreatedAt)))),
		r.confirmButton("unpair-"+p.ID, "channels/unpair", "Unpair", "Hob will treat "+name+" as an unknown sender on "+p.Channel+".", fact{"pairing", p.ID}),
	)
}

// renderServers shows the MCP servers.
func (d *Dashboard) renderServers(r *request) (g.Node, error) {
	list, err := d.o.Backend.MCPServers(r.Context(), api.Query{Limit: pageRows})
	if err != nil {
		return nil, err
	}
	changed := map[string][]api.MCPTool{}
	for _, s := range list {
		if s.Held == 0 {
			continue
		}
		tools, err := d.o.Backend.MCPTools(r.Context(), api.Query{Of: s.Name})
		if err != nil {
			return nil, err
		}
		changed[s.Name] = slices.DeleteFunc(tools, func(t api.MCPTool) bool { return t.State != "changed" || t.Digest == "" })
	}
	return h.Section(
		h.Class("card"), h.ID("servers"), h.H2(g.Text("MCP servers")),
		g.If(len(list) == 0, emptyState("No MCP servers", "Add one in a terminal: hob mcp add NAME")),
		h.Ul(h.Class("list"), g.Map(list, func(s api.MCPServer) g.Node { return renderServer(r, s, changed[s.Name]) })),
	), nil
}

func renderServer(r *request, s api.MCPServer, changed []api.MCPTool) g.Node {
	kind := badgeSoft
	switch s.State {
	case "running":
		kind = badgeGood
	case "failed":
		kind = badgeBad
	case "login", "starting":
		kind = badgeWarn
	}
	meta := s.Address
	if s.Tools > 0 {
		meta += " · " + countOf(s.Tools, "tool", "tools")
	}
	if s.Sandbox != "" {
		meta += " · sandbox: " + s.Sandbox
	}
	cause, remedy := textnorm.SplitRemedy(s.Cause)
	if s.State == "login" && remedy == "" {
		remedy = "hob mcp login " + s.Name
	}
	return h.Li(
		h.Data("name", s.Name), h.Data("state", s.State),
		h.Span(h.Class("what"), h.Strong(plainText(s.Name))),
		stateBadge(kind, s.State),
		g.If(s.State != "off", h.Span(h.Class("acts small"), r.actionButton("channels/test-server", "Test", h.Aria("label", "Test "+s.Name), fact{"server", s.Name}))),
		h.P(h.Class("meta"), plainText(meta)),
		g.If(cause != "", h.P(h.Class("full"), plainText(capitalizeProse(cause)))),
		g.If(remedy != "", h.P(h.Class("meta"), h.Strong(g.Text("What to do: ")), plainText(remedy))),
		g.Iff(len(changed) > 0, func() g.Node { return renderChangedTools(r, s.Name, changed) }),
	)
}

// renderChangedTools shows what a server changed, so that the user trusts what they have read.
func renderChangedTools(r *request, server string, list []api.MCPTool) g.Node {
	return h.Div(
		h.Class("full"),
		h.P(h.Strong(g.Text(countOf(len(list), "changed tool waits", "changed tools wait")+" for your trust")), g.Text(". The texts come from the server.")),
		h.Ul(g.Map(list, func(t api.MCPTool) g.Node {
			return h.Li(h.Code(plainText(t.Name)), h.Details(
				h.Summary(g.Text("What changed")),
				factList(
					fact{"Before", t.Description}, fact{"Now", cmp.Or(t.Changed, "(the same description)")},
					fact{"Arguments before", string(t.Schema)}, fact{"Arguments now", string(t.NewSchema)},
				),
			))
		})),
		r.postForm("channels/trust-server", h.Class("row"), hiddenField("server", server),
			g.Map(list, func(t api.MCPTool) g.Node { return hiddenField("digest", t.Digest) }),
			h.Button(h.Type("submit"), g.Text("Trust changed tools"))),
	)
}

// renderSkills shows the skills with their trust, and a form that adds one. Trusting a suspicious one is
// left to the terminal, where its complete text and the findings of the scan are shown.
func (d *Dashboard) renderSkills(r *request, list []api.Skill) g.Node {
	return h.Section(
		h.Class("card"), h.ID("skills"), h.H2(g.Text("Skills")),
		h.P(h.Class("soft small"), g.Text("A skill tells a language model in words how to do something for you. The model reads it when your message matches. The built-in brain reads no skills.")),
		h.Ul(h.Class("list"), g.Map(list, func(s api.Skill) g.Node {
			kind, next := badgeWarn, "hob skill show "+s.Name+", then: hob skill trust "+s.Name
			switch s.State {
			case "trusted":
				kind, next = badgeGood, ""
			case "invalid":
				kind, next = badgeBad, ""
			}
			if s.Origin != "folder" {
				next = ""
			}
			from := s.Origin
			if s.From != "" {
				from += ": " + s.From
			}
			if !s.TrustedAt.IsZero() {
				from += " · trusted " + r.formatRelative(s.TrustedAt)
			}
			return h.Li(
				h.Data("name", s.Name), h.Data("state", s.State),
				h.Span(h.Class("what"), h.Strong(plainText(s.Name)), h.Span(h.Class("soft"), plainText(" "+shortNotice(s.Description)))),
				stateBadge(kind, s.State),
				g.If(s.Problem != "", h.P(h.Class("full failed"), plainText(capitalizeProse(s.Problem)))),
				h.P(h.Class("meta"), plainText("From "+from)),
				g.If(next != "", h.P(h.Class("meta"), h.Strong(g.Text("Review it: ")), plainText(next))),
			)
		})),
		d.renderSkillForm(r, len(list) == 0),
	)
}

func (d *Dashboard) pairAccount(r *request) (string, error) {
	c, err := d.o.Backend.Pair(r.Context(), r.PostForm.Get("channel"), r.by)
	if err != nil {
		return "", err
	}
	return "Your code is " + c.Code + ". Send it on " + c.Channel + " as a separate direct message, until " + r.formatTime(c.ExpiresAt) + ".", nil
}

func (d *Dashboard) unpairAccount(r *request) (string, error) {
	p, err := d.o.Backend.Unpair(r.Context(), r.PostForm.Get("pairing"), r.by)
	if err != nil {
		return "", err
	}
	return cmp.Or(p.Name, p.Sender) + " is no longer paired on " + p.Channel + ".", nil
}

func (d *Dashboard) testChannel(r *request) (string, error) {
	t, err := d.o.Backend.TestChannel(r.Context(), r.PostForm.Get("channel"), r.PostForm.Get("send") == "true")
	switch {
	case err != nil:
		return "", err
	case !t.OK && t.Remedy != "":
		return "", fmt.Errorf("%s: %s; %s", t.Channel, t.Cause, t.Remedy)
	case !t.OK:
		return "", errors.New(t.Channel + ": " + t.Cause)
	}
	return asSentence(t.Channel + " works: " + t.Said), nil
}

func (d *Dashboard) testServer(r *request) (string, error) {
	s, err := d.o.Backend.TestMCP(r.Context(), r.PostForm.Get("server"))
	if err != nil {
		return "", err
	}
	return s.Name + " works and offers " + countOf(s.Tools, "tool", "tools") + ".", nil
}

// trustServer accepts the changed tools that the page showed. A tool that changed again is refused.
func (d *Dashboard) trustServer(r *request) (string, error) {
	digests := r.PostForm["digest"]
	if len(digests) == 0 {
		return "", fmt.Errorf("%w: no changed tool is named; use the button of the server", api.ErrInvalid)
	}
	list, err := d.o.Backend.TrustMCP(r.Context(), r.PostForm.Get("server"), digests)
	if err != nil {
		return "", err
	}
	return "You now trust " + countOf(len(list), "changed tool", "changed tools") + " of " + r.PostForm.Get("server") + ".", nil
}
