package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

const (
	// maxShownText is the maximum length of one message on the page, in characters, unless the user
	// opens all of it.
	maxShownText = 20_000
	// maxShownTotal is the maximum number of bytes of all messages on the page. Older ones are one
	// link away.
	maxShownTotal = 300_000
	// answerTime is how long a browser without JavaScript waits for an answer.
	answerTime = 25 * time.Second
)

// chatPage shows a conversation. chat.js adds streaming, pastes, files and drafts.
func (d *Dashboard) chatPage() page {
	return page{
		path: "/chat", title: "Chat", class: "chat", file: "chat.js", icon: "M4 5h16v11H9l-5 4z", show: d.showChat,
		fragments: map[string]func(*request) (g.Node, error){"asked": d.showAsked, "turn": d.showTurn, "line": d.showLine},
		actions:   map[string]action{"send": d.sendMessage, "stop": d.stopTurn},
		commands:  []command{{"New conversation", "/chat?new=1"}},
	}
}

// chatSession returns the conversation that a request names, or the last one.
func (d *Dashboard) chatSession(r *request, name string) (string, error) {
	if name != "" {
		return d.o.SessionName(name)
	}
	list, err := d.o.Backend.Sessions(r.Context(), api.Query{Limit: pageRows})
	for _, s := range list {
		if (s.Channel == "web" || s.Channel == "terminal") && !strings.Contains(s.ID, ":") { // not of a watcher or a tool call
			return s.ID, err
		}
	}
	return "main", err
}

// chatLink returns the address of a conversation.
func chatLink(session string) string { return "/chat?session=" + url.QueryEscape(session) }

func (d *Dashboard) showChat(r *request) (g.Node, error) {
	if r.queryValue("new") != "" {
		return d.renderChat(r, "chat-"+r.now.Format(time.DateOnly)+"-"+strings.ToLower(rand.Text()[:4]))
	}
	session, err := d.chatSession(r, r.queryValue("session"))
	if err != nil {
		return nil, err
	}
	return d.renderChat(r, session)
}

func (d *Dashboard) renderChat(r *request, session string) (g.Node, error) {
	ctx := r.Context()
	sessions, err := d.o.Backend.Sessions(ctx, api.Query{Limit: pageRows})
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, s := range sessions {
		names = append(names, s.ID)
	}
	if !slices.Contains(names, session) {
		names = append([]string{session}, names...)
	}
	log, err := d.renderLog(r, session)
	if err != nil {
		return nil, err
	}
	asked, err := d.renderAsked(r, session)
	if err != nil {
		return nil, err
	}
	return g.Group{
		h.Div(
			h.Class("head"), h.H1(g.Text("Chat")),
			h.Form(
				h.Method("get"), h.Action("/chat"), h.Class("inline"),
				h.Label(h.Class("sr"), h.For("sessions"), g.Text("Conversation")),
				h.Select(h.ID("sessions"), h.Name("session"), g.Map(names, func(n string) g.Node {
					return h.Option(h.Value(n), g.If(n == session, h.Selected()), plainText(n))
				})),
				h.NoScript(h.Button(h.Type("submit"), g.Text("Open"))),
			),
			h.A(h.ID("new"), h.Class("button"), h.Href("/chat?new=1"), h.Aria("label", "New conversation"), g.Text("New")),
		),
		log,
		asked,
		d.renderComposer(session),
	}, nil
}

// renderComposer returns the form for a message. Without JavaScript, the page shows the answer once
// it is complete.
func (d *Dashboard) renderComposer(session string) g.Node {
	return h.Form(
		h.ID("composer"), h.Method("post"), h.Action("/chat/send"), h.AutoComplete("off"),
		hiddenField("session", session), hiddenField("back", chatLink(session)),
		h.Ul(h.ID("pastes"), h.Aria("label", "Attachments")),
		h.Div(
			h.Class("row"),
			h.Label(h.Class("sr"), h.For("input"), g.Text("Message")),
			h.Textarea(h.ID("input"), h.Name("text"), h.Rows("1"), h.Placeholder("Message Hob"), h.Title("Enter sends, Shift+Enter starts a new line"), h.AutoFocus()),
			h.Input(h.Type("file"), h.ID("files"), h.Multiple(), h.Hidden("")),
			h.Button(h.Type("button"), h.ID("attach"), h.Hidden(""), h.Title("Attach pictures or text files"), g.Text("Attach")),
			h.Button(h.Type("button"), h.ID("stop"), h.Hidden(""), h.Title("Escape"), g.Text("Stop")),
			h.NoScript(h.Button(h.Type("submit"), h.FormAction("/chat/stop"), g.Text("Stop"))),
			h.Button(h.Type("submit"), h.ID("send"), h.Class("primary"), g.Text("Send")),
		),
	)
}

// renderLog shows the newest messages of a conversation, or the ones before a given message.
func (d *Dashboard) renderLog(r *request, session string) (g.Node, error) {
	rows, err := d.o.Backend.Messages(r.Context(), api.Query{Of: session, Limit: pageRows + 1, Before: r.queryValue("before")})
	if err != nil {
		return nil, err
	}
	more := len(rows) > pageRows
	rows = rows[:min(len(rows), pageRows)]
	var lines g.Group
	total, last := 0, ""
	for i, l := range rows {
		if total += min(len(l.Text), maxShownText); total > maxShownTotal && i > 0 {
			more = true
			break
		}
		last = l.ID
		if n := d.renderLine(r, session, l); n != nil {
			lines = append(lines, n)
		}
	}
	slices.Reverse(lines)
	return h.Div(
		h.ID("log"), h.Role("log"), h.Aria("live", "polite"), h.Aria("label", "Conversation"), h.TabIndex("0"), h.Data("session", session),
		g.If(more, h.A(h.Class("earlier"), h.Href(chatLink(session)+"&before="+url.QueryEscape(last)), g.Text("Earlier messages"))),
		g.If(len(lines) == 0, h.P(h.Class("hint"), g.Text("No messages yet.\nTry: remind me in 20 minutes to stretch"))),
		lines,
		g.If(r.queryValue("before") != "", h.A(h.Class("earlier"), h.Href(chatLink(session)), g.Text("Newest messages"))),
	), nil
}

// renderLine shows one message, or nil for one that is shown elsewhere: open questions are cards.
func (d *Dashboard) renderLine(r *request, session string, l api.ChatLine) g.Node {
	text := l.Text
	for _, a := range l.Attached {
		text = strings.TrimPrefix(text+"\n["+a+"]", "\n")
	}
	if l.Kind == "question" || text == "" {
		return nil
	}
	cut := false
	if r.queryValue("full") != l.ID {
		if runes := []rune(text); len(runes) > maxShownText {
			text, cut = string(runes[:maxShownText])+"…", true
		}
	}
	kind := l.Kind
	switch l.Kind {
	case "message":
		kind = "notice"
		if l.From == "owner" {
			kind = "user"
		}
	case "reply":
		kind = "assistant"
	}
	var uses []api.ToolUse
	if l.Kind == "reply" {
		uses = d.listToolUses(r.Context(), l.Event)
	}
	body := richText(text)
	if kind == "user" || kind == "status" {
		body = h.Div(h.Class("text"), h.Dir("auto"), plainText(text))
	}
	return h.Article(
		h.Class("message "+kind), h.Data("event", l.Event), h.Data("id", l.ID), h.Title(l.At.In(r.zone).Format("Monday, 2 January 2006, 15:04:05")),
		renderTools(uses),
		body,
		g.If(cut, h.A(h.Href(chatLink(session)+"&full="+url.QueryEscape(l.ID)), g.Text("Show the whole message"))),
		g.If(kind == "notice", r.relativeTime(l.At)),
		g.If(l.Event != "" && (kind == "notice" || kind == "assistant"), renderMessageActs(session, l.Event, text, uses)),
	)
}

// listToolUses returns the tool calls of an event. Without them the answer is still useful, so an
// error is only logged.
func (d *Dashboard) listToolUses(ctx context.Context, event string) []api.ToolUse {
	st, err := d.o.Backend.Event(ctx, event)
	if err != nil {
		d.o.Log.Debug("reading the tool calls of an answer failed", "event", event, "error", err)
	}
	return st.Tools
}

// renderMessageActs links to the reasons of a message, and offers to undo what Hob did for it. chat.js
// sends the form without leaving the page.
func renderMessageActs(session, event, text string, uses []api.ToolUse) g.Node {
	undoable := slices.ContainsFunc(uses, func(u api.ToolUse) bool { return u.Undoable })
	return h.Div(
		h.Class("why"),
		h.A(h.Href(whyLink(event)), h.Data("drawer", ""), h.Aria("label", "Why: "+shortText(text)), g.Text("Why")),
		g.Iff(undoable, func() g.Node {
			return h.Form(
				h.Class("inline"), h.Method("post"), h.Action("/timeline/undo"), hiddenField("call", event), hiddenField("back", chatLink(session)),
				h.Button(h.Type("submit"), h.Class("link"), h.Aria("label", "Undo: "+shortText(text)), g.Text("Undo")),
			)
		}),
	)
}

// renderTools shows tool calls as lines that open.
func renderTools(uses []api.ToolUse) g.Node {
	if len(uses) == 0 {
		return nil
	}
	return h.Ul(h.Class("tools"), g.Map(uses, func(u api.ToolUse) g.Node {
		state := "done"
		if u.State != "done" {
			state = "failed"
		}
		return h.Li(h.Class("tool"), h.Data("call", u.ID), h.Data("state", state), h.Details(
			h.Summary(plainText(strings.ReplaceAll(u.Name, "_", " "))),
			h.Pre(h.Class("wrap"), h.TabIndex("0"), plainText(indentJSON(u.Args)+"\n\n"+shortResult(u.Text))),
		))
	}))
}

// shortResult limits the text of a result. The timeline has all of it.
func shortResult(s string) string {
	const most = 4000
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// showTurn returns the answer of an event, which replaces the streamed text.
func (d *Dashboard) showTurn(r *request) (g.Node, error) {
	st, err := d.o.Backend.Event(r.Context(), r.queryValue("event"))
	if err != nil {
		return nil, err
	}
	return h.Article(h.Class("message assistant"), h.Data("event", st.ID), renderTools(st.Tools), richText(st.Answer), renderMessageActs(st.Session, st.ID, st.Answer, st.Tools)), nil
}

// showLine returns one of the newest messages of a conversation.
func (d *Dashboard) showLine(r *request) (g.Node, error) {
	session, err := d.chatSession(r, r.queryValue("session"))
	if err != nil {
		return nil, err
	}
	rows, err := d.o.Backend.Messages(r.Context(), api.Query{Of: session, Limit: pageRows})
	if err != nil {
		return nil, err
	}
	for _, l := range rows {
		if l.ID == r.queryValue("id") {
			return d.renderLine(r, session, l), nil
		}
	}
	return nil, fmt.Errorf("%w: message %q", api.ErrNotFound, r.queryValue("id"))
}

// showAsked returns the pending approval requests with the parts of the page that change with them.
func (d *Dashboard) showAsked(r *request) (g.Node, error) {
	session, err := d.chatSession(r, r.queryValue("session"))
	if err != nil {
		return nil, err
	}
	asked, err := d.renderAsked(r, session)
	if err != nil {
		return nil, err
	}
	return h.Div(asked, d.renderNav(r), renderProblems(r, d.o.Backend.Problems(r.Context()))), nil
}

// renderAsked shows the pending approval requests of all conversations.
func (d *Dashboard) renderAsked(r *request, session string) (g.Node, error) {
	pending, err := d.o.Backend.Approvals(r.Context(), api.Query{State: "pending", Limit: pageRows})
	if err != nil {
		return nil, err
	}
	slices.Reverse(pending)
	r.chat = chatLink(session)
	return h.Div(
		h.ID("approvals"), h.Aria("live", "assertive"), r.liveFrom("/chat/asked?session="+url.QueryEscape(session), "#approvals"),
		g.If(len(pending) > 0, renderBatches(r, pending)),
	), nil
}

// sendMessage sends a message from a browser without JavaScript and waits for the answer.
func (d *Dashboard) sendMessage(r *request) (string, error) {
	session, err := d.chatSession(r, r.PostForm.Get("session"))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n"))
	if text == "" {
		return "", fmt.Errorf("%w: the message is empty; write something first", api.ErrInvalid)
	}
	in, err := d.o.Message(r.Request, session, text)
	if err != nil {
		return "", err
	}
	acc, err := d.o.Backend.Receive(r.Context(), in)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	ctx, stop := d.o.Lifetime(ctx)
	defer stop()
	if _, err = d.o.Backend.Wait(ctx, acc.Event); errors.Is(err, context.DeadlineExceeded) {
		return "Hob is still working on the answer. Reload the page to see it.", nil
	}
	return "", err
}

func (d *Dashboard) stopTurn(r *request) (string, error) {
	session, err := d.chatSession(r, r.PostForm.Get("session"))
	if err != nil {
		return "", err
	}
	out, err := d.o.Backend.Stop(r.Context(), session)
	if err != nil {
		return "", err
	}
	if !out.Stopped {
		return "Nothing was running.", nil
	}
	return "Stopped.", nil
}
