package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/pim"
	"hob/platform/pim/imapmail"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Limits of rules.
const (
	maxRules     = 100
	maxCondition = 200 // characters
	shownUses    = 5   // last uses of a rule in a list
	ruleWait     = 20 * time.Second
)

// ruleCategory is the category of the tools for rules. The guard treats them like the tools for
// watchers, because a rule acts after the conversation.
const ruleCategory = "watch"

type createRuleIn struct {
	From    string `json:"from,omitempty" jsonschema:"address, domain or name of the sender"`
	Subject string `json:"subject,omitempty" jsonschema:"words that the subject must contain"`
	List    string `json:"list,omitempty" jsonschema:"identifier of a mailing list, as email_unsubscribe shows it"`
	Action  string `json:"action,omitempty" jsonschema:"archive (default), trash, junk, mark_read, flag, or the name of an existing folder to move to"`
	Account string `json:"account,omitempty" jsonschema:"only this account"`
}

type findRuleIn struct {
	Rule string `json:"rule" jsonschema:"id of the rule, or words of its condition"`
}

type listRulesOut struct {
	Rules []mailRule `json:"rules"`
}

func (in createRuleIn) buildRule(c tools.Call) (mailRule, error) {
	r := mailRule{
		ID: shortid.New("r"), Account: strings.TrimSpace(in.Account), From: oneLine(in.From), Subject: oneLine(in.Subject), List: strings.Trim(oneLine(in.List), "<>"),
		Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond),
	}
	switch action := strings.ToLower(oneLine(cmp.Or(strings.TrimSpace(in.Action), "archive"))); action {
	case "mark_read", "read", "mark as read":
		r.Action = actRead
	case "flag", "star":
		r.Action = actFlag
	case "delete":
		r.Action, r.Folder = actMove, "trash"
	case "archive", "trash", "junk":
		r.Action, r.Folder = actMove, action
	default:
		r.Action, r.Folder = actMove, oneLine(in.Action)
	}
	switch {
	case r.From == "" && r.Subject == "" && r.List == "":
		return r, tools.Errorf(tools.InvalidArguments, "the rule would match every email; give a sender, words of the subject or a mailing list")
	case r.From != "" && len(textnorm.FoldedWords(r.From)) == 0 || r.Subject != "" && len(textnorm.FoldedWords(r.Subject)) == 0:
		return r, tools.Errorf(tools.InvalidArguments, "the condition contains no words")
	case strings.EqualFold(r.Folder, inbox):
		return r, tools.Errorf(tools.InvalidArguments, "arriving emails are already in the inbox; name another folder")
	}
	for _, s := range []string{r.From, r.Subject, r.List, r.Folder, r.Account} {
		if len([]rune(s)) > maxCondition {
			return r, tools.Errorf(tools.InvalidArguments, "a condition is longer than %d characters", maxCondition)
		}
	}
	return r, nil
}

func oneLine(s string) string { return pim.SanitizeLine(s, maxCondition+1) }

func (d Deps) createEmailRule() tools.Tool {
	return tools.New(tools.Def[createRuleIn]{
		Spec: tools.Spec{
			Name: "create_email_rule", Category: ruleCategory, Effects: tools.Write, Timeout: time.Minute,
			Description: "Create a rule for arriving emails: archive, delete, mark as read, flag or move the emails of a sender, a mailing list or with words in the subject.",
			Keywords:    "rule filter email mail always automatically archive move sort delete mark read flag newsletter sender incoming arriving block",
		},
		Summary: func(in createRuleIn) string {
			r, err := in.buildRule(tools.Call{})
			if err != nil {
				return "Create a rule for arriving emails"
			}
			return "From now on, for arriving " + textnorm.Ellipsize(r.describeRule(), 200)
		},
		Prepare: d.prepareRule,
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in createRuleIn) (tools.Result, error) {
			r, err := in.buildRule(c)
			if err != nil {
				return tools.Result{}, err
			}
			if name, ok := c.Prepared.(string); ok {
				r.Account = name
			}
			all, err := queryRules(tx)
			if err != nil {
				return tools.Result{}, err
			}
			if len(all) >= maxRules {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "there are already %d rules; remove one with remove_email_rule", len(all))
			}
			for _, x := range all {
				if x.describeRule() == r.describeRule() {
					return tools.Result{}, tools.Quoting(tools.Errorf(tools.Conflict, "this rule exists: %s (%s)", tools.Clean(x.describeRule()), x.ID), x.Provenance)
				}
			}
			if _, err := insertRule(tx, r); err != nil {
				return tools.Result{}, err
			}
			d.Rules.announceAfterCommit(tx)
			return tools.Result{
				Source: provenance.Tool, Text: fmt.Sprintf("From now on, for arriving %s.", r.describeRule()), Data: r, Undo: tools.NewUndo("remove the rule for "+r.describeRule(), r),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			r, err := decodeRule(data)
			if err != nil {
				return "", err
			}
			if found, err := deleteRule(tx, r.ID); err != nil || !found {
				if err != nil {
					return "", err
				}
				return "", tools.Errorf(tools.NotFound, "the rule no longer exists")
			}
			d.Rules.announceAfterCommit(tx)
			return "Removed the rule. Emails that it moved stay in their folder.", nil
		},
	})
}

// prepareRule checks the account and the folder of a rule, and returns the account's name.
func (d Deps) prepareRule(ctx context.Context, c tools.Call, in createRuleIn) (any, error) {
	r, err := in.buildRule(c)
	if err != nil {
		return nil, err
	}
	accounts, err := d.accountsNamed(r.Account)
	if err != nil {
		return nil, err
	}
	if r.Account != "" {
		r.Account = accounts[0].Name
	}
	switch r.Folder {
	case "", "archive", "trash", "junk": // created when needed
		return r.Account, nil
	}
	found, err := queryAccounts(ctx, accounts, ruleWait, func(ctx context.Context, c *imapmail.Conn, _ pim.Account) ([]string, error) {
		_, err := c.For(ctx, r.Folder)
		return nil, err
	})
	if found != nil { // at least one account has the folder
		err = nil
	}
	return r.Account, tools.ClassifyPIM(err)
}

func decodeRule(data json.RawMessage) (mailRule, error) {
	var r mailRule
	if err := json.Unmarshal(data, &r); err != nil {
		return r, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	return r, nil
}

func (d Deps) listEmailRules() tools.Tool {
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{
			Name: "list_email_rules", Category: ruleCategory, Effects: tools.Read,
			Description: "List the rules for arriving emails, how often each was applied, and to which emails last.",
			Keywords:    "rules filters email mail list show which what automatically moved",
		},
		Summary: func(struct{}) string { return "List the rules for arriving emails" },
		Run: func(ctx context.Context, c tools.Call, _ struct{}) (tools.Result, error) {
			q := d.Rules.opt.Store.Reader(ctx)
			all, err := queryRules(q)
			if err != nil {
				return tools.Result{}, err
			}
			if len(all) == 0 {
				return tools.Result{Source: provenance.Tool, Text: "There are no rules for arriving emails.", Data: listRulesOut{[]mailRule{}}}, nil
			}
			source := provenance.Tool
			var b strings.Builder
			b.WriteString("Rules for arriving emails:")
			for i, r := range all {
				if all[i].Uses, err = queryUses(q, r.ID, shownUses); err != nil {
					return tools.Result{}, err
				}
				fmt.Fprintf(&b, "\n- %s (%s), applied %s", r.describeRule(), r.ID, textnorm.CountNoun(r.Applied, "time", "times"))
				if r.Error != "" {
					b.WriteString("\n  Not working: " + r.Error)
				}
				for _, u := range all[i].Uses {
					fmt.Fprintf(&b, "\n  - %s, %s", u.Email, dateparse.Format(u.At.In(c.Now.Location()), c.Now))
				}
				if source = provenance.Worst(source, r.Provenance); len(all[i].Uses) > 0 || r.Error != "" {
					source = provenance.Outside
				}
			}
			return tools.Result{Source: source, Text: b.String(), Data: listRulesOut{all}}, nil
		},
	})
}

func (d Deps) removeEmailRule() tools.Tool {
	return tools.New(tools.Def[findRuleIn]{
		Spec: tools.Spec{
			Name: "remove_email_rule", Category: ruleCategory, Effects: tools.Write,
			Description: "Remove a rule for arriving emails. Emails that it moved stay in their folder.",
			Keywords:    "remove delete stop rule filter email mail no longer automatically",
		},
		Summary: func(in findRuleIn) string {
			return fmt.Sprintf("Remove the email rule %q", textnorm.Ellipsize(in.Rule, 100))
		},
		RunTx: func(_ context.Context, tx *store.Tx, _ tools.Call, in findRuleIn) (tools.Result, error) {
			all, err := queryRules(tx)
			if err != nil {
				return tools.Result{}, err
			}
			r, err := tools.Pick("rule", in.Rule, all, func(r mailRule) (string, string) { return r.ID, r.describeRule() })
			if err != nil {
				var sources []provenance.Source
				for _, x := range all {
					sources = append(sources, x.Provenance)
				}
				return tools.Result{}, tools.Quoting(err, sources...)
			}
			if _, err := deleteRule(tx, r.ID); err != nil {
				return tools.Result{}, err
			}
			d.Rules.announceAfterCommit(tx)
			return tools.Result{
				Source: provenance.Worst(provenance.Tool, r.Provenance), Text: fmt.Sprintf("Removed the rule for arriving %s.", r.describeRule()), Data: r, Undo: tools.NewUndo("restore the rule for "+r.describeRule(), r),
			}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			r, err := decodeRule(data)
			if err != nil {
				return "", err
			}
			if added, err := insertRule(tx, r); err != nil {
				return "", err
			} else if !added {
				return "", tools.Errorf(tools.Conflict, "the rule exists again")
			}
			d.Rules.announceAfterCommit(tx)
			return "Restored the rule.", nil
		},
	})
}
