package memorysync

import (
	"encoding/json"
	"strings"

	"hob/autonomy/mind/learn"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store/erase"
	"hob/platform/text/memoryfile"
	"hob/platform/text/textnorm"
)

// statementPrefix marks the ID of a statement about the user (see learn.Preference) where lines
// otherwise name a fact.
const statementPrefix = "user:"

// readStatements returns the statements that `hob memory user` lists, newest first, in the form of
// facts. They have lines in USER.md only.
func (c *comparison) readStatements() (out []knowledge.ListedFact, err error) {
	if c.s.o.Learner == nil || c.t.User == "" {
		return nil, nil
	}
	list, err := c.s.o.Learner.Statements(c.tx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if strings.Contains(p.Text, erase.Mark) {
			continue
		}
		out = append(out, knowledge.ListedFact{AboutUser: true, Fact: knowledge.Fact{
			ID: statementPrefix + p.ID, Text: p.Text, Kind: knowledge.KindPreference, Provenance: provenance.Owner, CreatedAt: p.At,
		}})
	}
	return out, nil
}

// unstatedElsewhere returns the statements that no fact repeats. The line of the fact stands for both.
func (c *comparison) unstatedElsewhere() (out []knowledge.ListedFact, err error) {
	list, err := c.readStatements()
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		same, err := c.s.o.Base.FactWithText(c.tx, c.t.Realm, s.Text)
		if err != nil {
			return nil, err
		}
		if same == nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// statementWith returns the statement for which match reports true, or nil.
func (c *comparison) statementWith(match func(knowledge.ListedFact) bool) (*knowledge.Fact, error) {
	list, err := c.readStatements()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if match(list[i]) {
			return &list[i].Fact, nil
		}
	}
	return nil, nil
}

// statementSaying returns the statement with a text, or nil.
func (c *comparison) statementSaying(text string) (*knowledge.Fact, error) {
	same := strings.Join(textnorm.FoldedWords(text), " ")
	return c.statementWith(func(s knowledge.ListedFact) bool { return strings.Join(textnorm.FoldedWords(s.Text), " ") == same })
}

// factOf returns a fact or a statement.
func (c *comparison) factOf(id string) (knowledge.Fact, error) {
	if !isStatement(id) {
		return c.s.o.Base.Fact(c.tx, id)
	}
	f, err := c.statementWith(func(s knowledge.ListedFact) bool { return s.ID == id })
	if f == nil {
		if err == nil {
			err = knowledge.ErrNotFound
		}
		return knowledge.Fact{}, err
	}
	return *f, nil
}

func isStatement(id string) bool { return strings.HasPrefix(id, statementPrefix) }

// changeStatement edits a statement, or deletes it if text is empty.
func (c *comparison) changeStatement(f *syncedFile, id, text string) error {
	_, change, err := c.s.o.Learner.ChangeUserTx(c.tx, strings.TrimPrefix(id, statementPrefix), learn.Change{Text: text, Delete: text == ""})
	if err != nil {
		return err
	}
	return c.recordStatement(f, change)
}

// addStatement stores the text of a new line in USER.md as a statement, too, if it is one.
func (c *comparison) addStatement(f *syncedFile, e memoryfile.Entry) error {
	if !f.aboutUser || e.Mark != memoryfile.Own || c.s.o.Learner == nil {
		return nil
	}
	change, err := c.s.o.Learner.StateTx(c.tx, e.Text)
	if err != nil {
		return err
	}
	return c.recordStatement(f, change)
}

// recordStatement adds a change to the edit that can be undone.
func (c *comparison) recordStatement(f *syncedFile, change learn.StatementChange) error {
	if change.Empty() {
		return nil
	}
	data, err := json.Marshal(change)
	f.edited = true
	c.edit.Statements = append(c.edit.Statements, data)
	return err
}

// changeSameStatement changes the statement that repeats a fact as the user changed the line of the fact.
func (c *comparison) changeSameStatement(f *syncedFile, old knowledge.Fact, text string) error {
	s, err := c.statementSaying(old.Text)
	if s == nil || err != nil || old.Provenance != provenance.Owner {
		return err
	}
	return c.changeStatement(f, s.ID, text)
}
