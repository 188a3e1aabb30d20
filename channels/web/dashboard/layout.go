package dashboard

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
)

// htmxConfig turns off what the content policy forbids and what the pages do not use. An error
// leaves the page unchanged.
const htmxConfig = `{"extensions":"sse,hx-csp,hob","includeIndicatorCSS":false,"history":false,"noSwap":[204,304,"4xx","5xx"],"sse":{"reconnectMaxDelay":5000}}`

// renderShell returns the complete page around its content.
func (d *Dashboard) renderShell(r *request, content g.Node) g.Node {
	problems := d.o.Backend.Problems(r.Context())
	chat := r.page.class == "chat"
	return h.Doctype(h.HTML(
		h.Lang("en"),
		renderHead(r),
		h.Body(
			h.Data("address", r.cleanAddress()),
			h.A(h.Class("skip"), h.Href("#main"), g.Text("Skip to content")),
			h.Div(
				h.Class(strings.TrimSpace("page "+r.page.class)),
				h.Div(h.ID("lost"), h.Role("alert"), h.Hidden(""), g.Text("The connection to Hob is lost. Your input is kept, and the page reconnects by itself.")),
				renderProblems(r, problems),
				h.Main(
					h.ID("main"), h.TabIndex("-1"),
					renderFlash(r.flash),
					g.If(chat, content),
					g.Iff(!chat, func() g.Node { return renderContent(r, content) }),
				),
			),
			d.renderSide(r),
			g.If(!chat, h.Div(h.ID("feed"), h.Hidden(""), g.Attr("hx-sse:connect", "/live"), r.nonceAttr())),
			g.If(chat, h.Div(h.ID("feed"), h.Hidden(""))),
			d.renderPalette(),
			renderHelp(),
			h.Dialog(
				h.ID("drawer"), h.Aria("label", "Details"),
				h.Form(h.Method("dialog"), h.Button(h.Type("submit"), g.Text("Close"))), h.Div(h.Class("body")),
			),
			renderScripts(r),
		),
	))
}

// renderContent returns the content of a page with its title.
func renderContent(r *request, content g.Node) g.Node {
	return h.Div(
		h.ID("content"), g.If(r.live, r.liveFrom(r.pageAddress(), "#content")),
		h.Div(h.Class("head"), h.H1(g.Text(r.page.title)), g.If(r.page.about != "", h.P(g.Text(r.page.about)))),
		content,
	)
}

// liveFrom makes htmx request an address after each live event, and replace the element that the
// selector names, the sidebar and the problems.
func (r *request) liveFrom(address, selector string) g.Node {
	return g.Group{
		h.Data("live", ""), g.Attr("hx-get", address), g.Attr("hx-trigger", "changed from:#feed, changed, every 60s"),
		g.Attr("hx-target", selector), g.Attr("hx-select", selector), g.Attr("hx-swap", "outerMorph"), g.Attr("hx-select-oob", sideParts), r.nonceAttr(),
	}
}

// sideParts are the parts of the page that change with the content.
const sideParts = "#nav:outerMorph,#problems:outerMorph"

func (r *request) nonceAttr() g.Node { return g.Attr("hx-nonce", r.nonce) }

// pageAddress returns the address to which an action leads.
func (r *request) pageAddress() string {
	if r.chat != "" {
		return r.chat
	}
	return r.cleanAddress()
}

// cleanAddress returns the address of the page without the message about the last action. A new
// conversation gets the address with its name.
func (r *request) cleanAddress() string {
	if r.queryValue("new") != "" && r.chat != "" {
		return r.chat
	}
	q := r.URL.Query()
	q.Del("flash")
	if len(q) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + q.Encode()
}

func renderHead(r *request) g.Node {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.Meta(h.Name("htmx-config"), h.Content(htmxConfig)),
		h.TitleEl(g.Text(r.page.title+" · Hob")),
		h.Link(h.Rel("icon"), h.Href("/icon.svg")),
		h.Link(h.Rel("manifest"), h.Href(filePath("manifest.webmanifest"))),
		h.Link(h.Rel("stylesheet"), h.Href(filePath("dashboard.css"))),
		g.If(r.page.plots, h.Link(h.Rel("stylesheet"), h.Href(filePath("vendor/uPlot.min.css")))),
		g.If(r.restarting, h.NoScript(h.Meta(g.Attr("http-equiv", "refresh"), h.Content("8")))),
	)
}

// renderScripts returns the scripts at the end of the page. They are not deferred: htmx would start
// before its extensions are loaded.
func renderScripts(r *request) g.Node {
	script := func(name string) g.Node { return h.Script(h.Src(filePath(name)), g.Attr("nonce", r.nonce)) }
	return g.Group{
		script("vendor/htmx.min.js"), script("vendor/hx-sse.min.js"), script("vendor/hx-csp.min.js"), script("dashboard.js"),
		g.If(r.page.plots, script("vendor/uPlot.iife.min.js")),
		g.If(r.page.file != "", script(r.page.file)),
	}
}

// renderSide returns the sidebar, which follows the content in the order of the keyboard. On a narrow
// screen it is a bar at the bottom.
func (d *Dashboard) renderSide(r *request) g.Node {
	return h.Header(
		h.Class("side"),
		h.A(h.Class("brand"), h.Href("/"), h.Img(h.Src("/icon.svg"), h.Alt("")), g.Text("Hob")),
		d.renderNav(r),
		h.Div(
			h.Class("foot"),
			h.Div(h.ID("state"), h.Role("status"), h.Aria("live", "polite")),
			h.Button(h.Type("button"), h.ID("open-palette"), h.Class("key"), g.Text("Find a page"), h.Kbd(g.Text("Ctrl K"))),
			h.Button(h.Type("button"), h.ID("open-help"), h.Class("key"), g.Text("Keyboard shortcuts"), h.Kbd(g.Text("?"))),
			h.Form(h.ID("log-out"), h.Method("post"), h.Action("/logout"), h.Button(h.Type("submit"), g.Text("Log out"))),
		),
	)
}

// renderNav returns the links to the pages.
func (d *Dashboard) renderNav(r *request) g.Node {
	return h.Nav(h.ID("nav"), h.Aria("label", "Pages"), h.Ul(g.Map(d.pages, func(p page) g.Node { return d.renderLink(r, p) })))
}

func (d *Dashboard) renderLink(r *request, p page) g.Node {
	n := 0
	if p.count != nil {
		var err error
		if n, err = p.count(r.Context()); err != nil {
			d.o.Log.Debug("count for the sidebar failed", "page", p.path, "error", err)
		}
	}
	return h.Li(h.A(
		h.Href(p.path), g.If(p.path == r.page.path, h.Aria("current", "page")),
		renderIcon(p.icon), h.Span(g.Text(p.title)),
		g.If(n > 0, h.Span(h.Class("count"), g.Text(strconv.Itoa(n)), h.Span(h.Class("sr"), g.Text(" open")))),
	))
}

func renderIcon(path string) g.Node {
	return h.SVG(g.Attr("viewBox", "0 0 24 24"), h.Aria("hidden", "true"), g.El("path", g.Attr("d", path)))
}

// renderProblems returns the faults that Hob works around.
func renderProblems(r *request, list []api.Problem) g.Node {
	return h.Div(
		h.ID("problems"), h.Class("problems"), h.Role("status"), h.Aria("label", "Problems"), g.If(len(list) == 0, h.Hidden("")),
		g.Map(list, func(p api.Problem) g.Node {
			text := capitalizeFirst(p.Text)
			if !p.Since.IsZero() {
				text += ", since " + r.formatTime(p.Since)
			}
			switch {
			case p.Next.After(r.now):
				text += ". Hob tries again with the first message after " + r.formatTime(p.Next)
			case !p.Next.IsZero():
				text += ". Hob tries again with the next message"
			}
			if p.Remedy != "" {
				text += ". " + capitalizeFirst(p.Remedy)
			}
			return h.P(h.Data("name", p.Name), plainText(text))
		}),
	)
}

// renderFlash returns the message about the last action. It is outside the content, so that a live
// update does not remove it.
func renderFlash(f flash) g.Node {
	class := "flash"
	if f.failed {
		class += " error"
	}
	return h.Div(h.ID("flash"), h.Role("status"), g.If(f.text != "", h.P(h.Class(class), plainText(f.text))))
}

// renderPalette returns the dialog for Ctrl-K.
func (d *Dashboard) renderPalette() g.Node {
	n := 0
	option := func(label string, attr ...g.Node) g.Node {
		n++
		return h.Li(h.Role("option"), h.ID("option-"+strconv.Itoa(n)), h.Aria("selected", "false"), g.Group(attr), g.Text(label))
	}
	var list g.Group
	for _, p := range d.pages {
		list = append(list, option(p.title, h.Data("href", p.path)))
	}
	for _, p := range d.pages {
		for _, c := range p.commands {
			list = append(list, option(c.label, h.Data("href", c.href)))
		}
	}
	list = append(list, option("Log out", h.Data("form", "log-out")))
	return h.Dialog(
		h.ID("palette"), h.Aria("label", "Find a page or an action"),
		h.Input(
			h.Type("text"), h.Role("combobox"), h.Aria("label", "Find a page or an action"), h.Aria("controls", "options"), h.Aria("expanded", "true"),
			h.Aria("autocomplete", "list"), h.Placeholder("Find a page or an action"), h.AutoComplete("off"), g.Attr("spellcheck", "false"),
		),
		h.Ul(h.ID("options"), h.Role("listbox"), h.Aria("label", "Pages and actions"), list),
		h.P(h.Class("none"), h.Hidden(""), g.Text("No match.")),
	)
}

// renderHelp returns the dialog with the keyboard shortcuts.
func renderHelp() g.Node {
	key := func(keys, text string) g.Node {
		return g.Group{h.Dt(h.Kbd(g.Text(keys))), h.Dd(g.Text(text))}
	}
	return h.Dialog(
		h.ID("help"), h.Aria("labelledby", "help-title"),
		h.H2(h.ID("help-title"), g.Text("Keyboard shortcuts")),
		h.Dl(
			h.Class("facts"),
			key("Ctrl K", "Find a page or an action"), key("/", "Go to the search or message field"), key("Enter", "Send the message"),
			key("Shift Enter", "Start a new line"), key("Esc", "Stop the answer, or close a dialog"), key("?", "Show this list"),
		),
		h.Label(h.Input(h.Type("checkbox"), h.ID("single-keys")), g.Text(" Use shortcuts with a single key (/ and ?)")),
		h.Form(h.Method("dialog"), h.Button(h.Type("submit"), h.AutoFocus(), g.Text("Close"))),
	)
}

// Problem is an error page.
type Problem struct {
	Status          int
	Message, Remedy string
	// Password means that the user can log in with a password.
	Password bool
}

// WriteProblem sends an error as a page. For a browser that is not logged in, the page says how to
// log in.
func (d *Dashboard) WriteProblem(w http.ResponseWriter, r *http.Request, p Problem) error {
	login := p.Status == http.StatusUnauthorized
	title := "Something went wrong"
	switch {
	case login:
		title = "Log in to Hob"
	case p.Status == http.StatusNotFound:
		title = "Not found"
	}
	return d.writeHTML(w, r, p.Status, contentPolicy(newNonce()), h.Doctype(h.HTML(
		h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")), h.TitleEl(g.Text(title+" · Hob")),
			h.Link(h.Rel("icon"), h.Href("/icon.svg")), h.Link(h.Rel("stylesheet"), h.Href(filePath("dashboard.css"))),
		),
		h.Body(h.Main(h.Class("login"), h.Div(
			h.Class("card"), g.If(login, h.ID("login")),
			h.H1(g.Text(title)),
			g.Iff(login, func() g.Node { return renderLogin(r, p) }),
			g.If(!login, h.P(plainText(asSentence(p.Message)))),
			g.If(!login && p.Remedy != "", h.P(h.Class("soft"), plainText(asSentence(p.Remedy)))),
			// The cookie is not sent when another site links here, but it is when this link is used.
			g.If(!login || r.Header.Get("Sec-Fetch-Site") == "cross-site", h.P(h.A(h.Href("/"), g.Text("Open the chat")))),
		))),
	)))
}

// renderLogin returns the ways to log in.
func renderLogin(r *http.Request, p Problem) g.Node {
	how := g.Group{g.Text("Run "), h.Code(g.Text("hob open")), g.Text(" in a terminal. It opens this page with a one-time login link.")}
	if r.URL.Query().Has("failed") {
		how = g.Group{
			g.Text("This login link was already used or is older than 2 minutes. Run "), h.Code(g.Text("hob open")), g.Text(" to get a new one."),
		}
	}
	if !p.Password {
		return h.P(h.ID("login-text"), how)
	}
	return g.Group{
		h.P(h.ID("login-text"), g.If(r.URL.Path == "/login", plainText(asSentence(p.Message)+" ")), g.Text("Enter the password of this Hob.")),
		h.Form(
			h.ID("login-form"), h.Class("stack"), h.Method("post"), h.Action("/login"),
			h.Input(h.Class("sr"), h.Name("username"), h.AutoComplete("username"), h.Value("owner"), h.TabIndex("-1"), h.Aria("hidden", "true"), h.ReadOnly()),
			h.Label(h.Class("field"), g.Text("Password"), h.Input(h.ID("password"), h.Type("password"), h.Name("password"), h.AutoComplete("current-password"), h.Required(), h.AutoFocus())),
			h.Button(h.Type("submit"), h.Class("primary"), g.Text("Log in")),
		),
	}
}

func capitalizeFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
