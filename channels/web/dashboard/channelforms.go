package dashboard

import (
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/pim"
	pimall "hob/platform/pim/all"
)

// renderAccountForm returns the form that connects a mail account. After a failure it shows the input
// again, except for the password, which stays on the server. If only certificates are unknown, it asks
// whether to trust them.
func (d *Dashboard) renderAccountForm(r *request, open bool) g.Node {
	id := r.queryValue("input")
	kept := d.flashes.readInput(id)
	if kept.Get("form") != "account" {
		id, kept = "", nil
	}
	if prints := kept["unknown"]; len(prints) > 0 {
		return renderUnknownCertificates(id, kept)
	}
	servers := false
	for _, kind := range pimall.Keys() {
		servers = servers || kept.Get(kind) != ""
	}
	password := "Password, or app password"
	if kept.Get("password") != "" {
		password = "Password (empty: as before)"
	}
	text := func(label, kind, name, example string, more ...g.Node) g.Node {
		return labeledField(label, h.Input(h.Type(kind), h.Name(name), h.Value(kept.Get(name)), h.Placeholder(example), h.MaxLength("300"), h.AutoComplete("off"), g.Attr("spellcheck", "false"), g.Group(more)))
	}
	return h.Details(
		g.If(open || len(kept) > 0, g.Attr("open", "")), h.ID("connect"),
		h.Summary(g.Text("Connect an account")),
		h.Form(
			h.Class("fields"), h.Method("post"), h.Action("/channels/account"), hiddenField("input", id),
			text("Email address", "email", "address", "ada@example.org", h.Required()),
			labeledField(password, h.Input(h.Type("password"), h.Name("password"), h.MaxLength("1000"), h.AutoComplete("new-password"), g.If(kept.Get("password") == "", h.Required()))),
			h.Details(
				g.If(servers || len(kept) > 0, g.Attr("open", "")),
				h.Summary(g.Text("Servers and user name (empty: Hob finds them)")),
				text("User name", "text", "user", "as the address"),
				g.Map(pimall.Descriptions(), func(x pim.AccountDescription) g.Node { return text(x.Question, "text", x.Key, "") }),
			),
			h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Test and connect"))),
			h.P(h.Class("soft small"), g.Text("Hob signs in first and saves the account only if that works. The password is stored encrypted on this machine.")),
		),
	)
}

// renderUnknownCertificates asks whether to trust the certificates of an account's servers.
func renderUnknownCertificates(id string, kept url.Values) g.Node {
	return h.Div(
		h.ID("certificates"), h.Role("alert"),
		h.P(h.Strong(plainText("Do you trust the servers of "+kept.Get("address")+"?"))),
		h.P(g.Text("No known authority signed their certificates. That is normal if the servers are yours or your company's. Otherwise, do not continue: someone else could read your password.")),
		h.Ul(h.Class("list"), g.Map(kept["unknown"], func(line string) g.Node {
			print, about, _ := strings.Cut(line, " ")
			return h.Li(h.Span(h.Class("what"), plainText(about)), h.P(h.Class("meta"), g.Text("Fingerprint (SHA-256) "), h.Code(plainText(print))))
		})),
		h.Form(
			h.Class("row"), h.Method("post"), h.Action("/channels/account"), hiddenField("input", id), hiddenField("again", "true"),
			g.Map(kept["unknown"], func(line string) g.Node {
				print, _, _ := strings.Cut(line, " ")
				return hiddenField("trust", print)
			}),
			h.Button(h.Type("submit"), h.Class("primary"), g.Text("Trust and connect")),
			h.A(h.Class("button"), h.Href("/channels#mail"), g.Text("Cancel")),
		),
	)
}

// addAccount signs in to an account and saves it.
func (d *Dashboard) addAccount(r *request) (string, error) {
	f, before := r.PostForm, d.flashes.readInput(r.PostForm.Get("input"))
	if f.Get("again") != "" { // the answer to the question about certificates repeats no field
		trust := f["trust"]
		f = url.Values{}
		for name, v := range before {
			f[name] = v
		}
		f["trust"] = append(f["trust"], trust...)
	}
	if f.Get("password") == "" {
		f.Set("password", before.Get("password"))
	}
	in := api.NewMailAccount{Address: f.Get("address"), User: f.Get("user"), Password: f.Get("password"), Servers: map[string]string{}, Trust: f["trust"]}
	for _, kind := range pimall.Keys() {
		in.Servers[kind] = f.Get(kind)
	}
	r.back = "/channels#mail"
	d.flashes.takeFlash(r.PostForm.Get("input"))
	added, err := d.o.Backend.AddMailAccount(r.Context(), in)
	f.Del("unknown")
	f.Del("input")
	f.Set("form", "account")
	switch {
	case err != nil:
		r.keep = f
		return "", err
	case len(added.Unknown) > 0:
		for _, c := range added.Unknown {
			f.Add("unknown", c.Fingerprint+" "+c.Server+": "+c.Subject+", valid until "+c.Expires)
		}
		r.keep = f
		return "", nil
	}
	return "Connected " + in.Address + ". " + asSentence(strings.Join(added.Said, "; ")) + " Hob restarts to use it.", nil
}

// renderSkillForm returns the form that adds a skill.
func (d *Dashboard) renderSkillForm(r *request, open bool) g.Node {
	kept := d.flashes.readInput(r.queryValue("input"))
	if kept.Get("form") != "skill" {
		kept = nil
	}
	return h.Details(
		g.If(open || len(kept) > 0, g.Attr("open", "")), h.ID("add-skill"),
		h.Summary(g.Text("Add a skill")),
		h.Form(
			h.Class("fields"), h.Method("post"), h.Action("/channels/skill"),
			labeledField("Name", h.Input(h.Name("name"), h.Value(kept.Get("name")), h.Placeholder("tea"), h.MaxLength("64"), h.AutoComplete("off"))),
			labeledField("What it is for, and when to use it", h.Input(h.Name("description"), h.Value(kept.Get("description")), h.Placeholder("How to make tea. Use it for questions about tea."), h.MaxLength("1024"), h.AutoComplete("off"))),
			labeledField("Instructions, or a whole SKILL.md file", h.Textarea(h.Name("text"), h.Rows("6"), h.Required(), h.MaxLength("200000"), h.Placeholder("Green tea takes 2 minutes at 75 °C."), plainText(kept.Get("text")))),
			h.Div(h.Class("row"), h.Button(h.Type("submit"), h.Class("primary"), g.Text("Add skill"))),
			h.P(h.Class("soft small"), g.Text("Hob stores it as SKILL.md in its folder for skills. A skill with more files: "), h.Code(g.Text("hob skill add FOLDER"))),
		),
	)
}

// addSkill adds the skill in the form.
func (d *Dashboard) addSkill(r *request) (string, error) {
	f := r.PostForm
	r.back = "/channels#skills"
	added, err := d.o.Backend.AddSkill(r.Context(), api.NewSkill{Name: f.Get("name"), Description: f.Get("description"), Text: f.Get("text")})
	if err != nil {
		f.Set("form", "skill")
		r.keep = f
		return "", err
	}
	if !added.Trusted {
		return "Added " + added.Name + ", but it is not trusted yet: " + asSentence(strings.Join(added.Findings, "; ")) + " Review it in a terminal: hob skill show " + added.Name + ".", nil
	}
	return "Added " + added.Name + ". A language model reads it when your message matches.", nil
}
