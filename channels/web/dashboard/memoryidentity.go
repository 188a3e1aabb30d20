package dashboard

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"hob/autonomy/api"
	"hob/platform/text/visible"
)

// renderIdentity lets the user correct which entries are one person or thing: merge two entries, or
// separate a name that belongs to another one.
func renderIdentity(r *request, e *api.Entity, others []api.Entity) g.Node {
	return cardSection(
		"Same or different?", h.ID("identity"),
		h.Form( // not with htmx, because the address changes: one of the two entries is gone afterwards
			h.Class("row"), h.Method("post"), h.Action("/memory/merge"), hiddenField("first", e.ID), hiddenField("back", r.pageAddress()),
			h.Label(h.Class("field grow"), plainText(e.Name+" is the same as"), h.Input(h.Name("second"), h.List("others"), h.Required(), h.MaxLength("200"), h.AutoComplete("off"), h.Placeholder("Another name in the memory"))),
			h.DataList(h.ID("others"), g.Map(others, func(x api.Entity) g.Node {
				if x.ID == e.ID {
					return nil
				}
				return h.Option(h.Value(visible.Text(x.Name)))
			})),
			h.Button(h.Type("submit"), g.Text("Merge")),
		),
		g.If(len(e.Aliases) == 0, h.P(h.Class("soft small"), g.Text("This entry has one name, so nothing can be separated."))),
		h.Ul(h.Class("list"), g.Map(e.Aliases, func(name string) g.Node {
			return h.Li(
				h.Span(h.Class("what"), plainText(name)),
				h.Span(h.Class("acts small"), h.Form(
					h.Class("inline"), h.Method("post"), h.Action("/memory/split"), hiddenFields([]fact{{"entity", e.ID}, {"name", name}, {"back", r.pageAddress()}}),
					h.Button(h.Type("submit"), h.Aria("label", "Separate: "+shortText(name)), g.Text("Separate")),
				)),
			)
		})),
		h.P(h.Class("soft small"), g.Text("You can undo both on the page Timeline.")),
	)
}

// mergePeople records that two entries are the same. Afterwards, only one of them has a page.
func (d *Dashboard) mergePeople(r *request) (string, error) {
	second := strings.TrimSpace(r.PostForm.Get("second"))
	if second == "" {
		return "", fmt.Errorf("%w: the other name is empty; enter a name in the memory", api.ErrInvalid)
	}
	notice, err := d.callTool(r, "merge_entities", struct {
		First  string `json:"first"`
		Second string `json:"second"`
	}{r.PostForm.Get("first"), second})
	if err == nil {
		r.back = "/memory"
	}
	return notice, err
}

// splitPerson records that a name belongs to another person or thing.
func (d *Dashboard) splitPerson(r *request) (string, error) {
	notice, err := d.callTool(r, "split_entity", struct {
		Entity string `json:"entity"`
		Name   string `json:"name"`
	}{r.PostForm.Get("entity"), r.PostForm.Get("name")})
	if err == nil {
		r.back = "/memory"
	}
	return notice, err
}
