package agents

import (
	_ "embed" // embeds the prompt texts
	"strings"

	"hob/platform/text/minitmpl"
)

//go:embed agents.tmpl
var agentsText string

//go:embed soul.md.tmpl
var soulText string

// Describe returns the prompt text about the agent that answers in a conversation, and about the
// other agents. changed reports that the agent was just assigned.
func (c *Registry) Describe(who Member, changed bool) string {
	t, err := minitmpl.Parse(agentsText)
	if err != nil { // cannot happen: the tests parse the template
		panic(err)
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		Who     Member
		Changed bool
		All     []Member
	}{who, changed, c.Members()})
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}
