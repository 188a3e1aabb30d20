package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/tools/a2a"
)

func (a *cli) a2aCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the agents to which Hob can delegate", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error { return a.listAgents() }),
	})
	var token string
	var untested bool
	add := a.addJSONFlag(&cobra.Command{
		Use: "add NAME URL", Short: "Add an agent after reading its card", Args: cobra.ExactArgs(2),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			return a.addAgent(c.Context(), config.A2AAgent{Name: args[0], URL: args[1], Token: token}, untested)
		}),
	})
	add.Flags().StringVar(&token, "token", "", "reference to the agent's `token`: env:NAME, file:PATH or keychain:NAME (default: none)")
	add.Flags().BoolVar(&untested, "untested", false, "save the agent without connecting to it")
	test := a.addJSONFlag(&cobra.Command{
		Use: "test NAME", Short: "Read an agent's card and test its token", Args: cobra.ExactArgs(1),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.testAgent(c.Context(), args[0]) }),
	})
	return a.commandGroup(&cobra.Command{Use: "a2a", Short: "Connect Hob with other agents over A2A"}, list, add, test, a.clientTokenCmd("a2a"))
}

// a2aAgentRow is an agent as shown in lists, without its token.
type a2aAgentRow struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Token string `json:"token,omitempty"` // reference to the token, or "set"
}

func newA2AAgentRow(g config.A2AAgent) a2aAgentRow {
	row := a2aAgentRow{Name: g.Name, URL: g.URL, Token: g.Token}
	if g.Token != "" && !system.IsReference(g.Token) {
		row.Token = "set"
	}
	return row
}

func (a *cli) listAgents() error {
	_, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	rows := []a2aAgentRow{}
	for _, g := range cfg.A2AAgents {
		rows = append(rows, newA2AAgentRow(g))
	}
	if a.asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.out, "No agents. Add one with: hob a2a add NAME https://agent.example.org")
	}
	for _, r := range rows {
		fmt.Fprintf(a.out, "%-16s %s  token: %s\n", r.Name, sanitizePrintable(r.URL), cmp.Or(r.Token, "none"))
	}
	return nil
}

// a2aCard holds the parts of an agent's card that a test shows. Their text is untrusted.
type a2aCard struct {
	Agent       string   `json:"agent"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Skills      []string `json:"skills"`
	Streaming   bool     `json:"streaming"`
}

// connectAgent reads the card of an agent and tests its token.
func (a *cli) connectAgent(ctx context.Context, p system.Paths, cfg *config.Config, g config.A2AAgent) (a2aCard, error) {
	secrets := vault.SecretsFor(p)
	network, err := cfg.Network.Client(ctx, secrets)
	if err != nil {
		return a2aCard{}, err
	}
	client := a2a.New(a2a.Options{Network: network, Agents: []config.A2AAgent{g}, Secret: secrets.Reveal})
	conn, err := client.Test(ctx, g.Name)
	if err != nil {
		return a2aCard{}, err
	}
	card := a2aCard{Agent: g.Name, Name: sanitizePrintable(conn.Card.Name), Description: sanitizePrintable(conn.Card.Description), Skills: []string{}, Streaming: conn.Card.Capabilities.Streaming}
	for _, s := range conn.Card.Skills {
		card.Skills = append(card.Skills, sanitizePrintable(s.Name))
	}
	return card, conn.Destroy()
}

func (a *cli) printCard(card a2aCard) {
	fmt.Fprintf(a.out, "%s answers. Its card says: %s. %s\n", card.Agent, card.Name, card.Description)
	if len(card.Skills) > 0 {
		fmt.Fprintf(a.out, "Skills: %s\n", strings.Join(card.Skills, ", "))
	}
}

func (a *cli) testAgent(ctx context.Context, name string) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	g, ok := cfg.A2AAgent(name)
	if !ok {
		return &failure{code: exitFailed, cause: fmt.Sprintf("there is no agent %q", name), remedy: "see: hob a2a list"}
	}
	card, err := a.connectAgent(ctx, p, cfg, g)
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.printJSON(card)
	}
	a.printCard(card)
	return nil
}

func (a *cli) addAgent(ctx context.Context, g config.A2AAgent, untested bool) error {
	p, cfg, err := a.loadHome()
	if err != nil {
		return err
	}
	if _, ok := cfg.A2AAgent(g.Name); ok {
		return &failure{code: exitFailed, cause: fmt.Sprintf("the agent %q already exists", g.Name), remedy: "choose another name, or edit the configuration file: hob config path"}
	}
	if g.Token != "" && !system.IsReference(g.Token) {
		return usageErrorf("--token must be a reference such as keychain:NAME; other users could see a token in the process list")
	}
	if !untested {
		card, err := a.connectAgent(ctx, p, cfg, g)
		if err != nil {
			return &failure{code: exitFailed, cause: "nothing was saved: " + err.Error(), remedy: "to save the agent anyway, use --untested", err: err}
		}
		if !a.asJSON {
			a.printCard(card)
		}
	}
	key := "a2a.agents." + g.Name
	values := []config.Value{{Key: key + ".url", Value: g.URL}}
	if g.Token != "" {
		values = append(values, config.Value{Key: key + ".token", Value: g.Token})
	}
	err = a.editConfig(ctx, p, "a new agent "+g.Name, func() error {
		_, err := config.SetAll(p.ConfigFile(), values)
		return err
	})
	if err != nil {
		return err
	}
	if a.asJSON {
		err = a.printJSON(newA2AAgentRow(g))
	} else {
		fmt.Fprintf(a.out, "Added the agent %s. Hob can now delegate tasks to it.\n", g.Name)
	}
	return cmp.Or(err, a.restartToApply(ctx, p))
}
