package money

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/shortid"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/tools/money/bankfile"
)

type importIn struct {
	Path      string            `json:"path" jsonschema:"CSV, OFX, QFX or QIF file from a bank or a money program"`
	Account   string            `json:"account,omitempty" jsonschema:"name of the account, if several accounts have equal transactions"`
	Currency  string            `json:"currency,omitempty" jsonschema:"of amounts without a currency; default the user's"`
	Category  string            `json:"category,omitempty" jsonschema:"of expenses whose category is unknown; default other"`
	DateOrder string            `json:"date_order,omitempty" jsonschema:"the user's answer: dmy or mdy"`
	Spending  string            `json:"spending,omitempty" jsonschema:"the user's answer: negative or positive amounts are spending"`
	Encoding  string            `json:"encoding,omitempty" jsonschema:"such as windows-1257, if letters are wrong"`
	Columns   map[string]string `json:"columns,omitempty" jsonschema:"headings or numbers of the columns, keyed by date, amount, debit, credit, payee, memo, currency, category, direction, id"`
}

// maxImport limits the size of a file.
const maxImport = 20 << 20

// importOut is the Data of import_expenses.
type importOut struct {
	File      string             `json:"file"`
	Format    string             `json:"format"`
	Batch     string             `json:"batch,omitempty"`
	Added     int                `json:"added"`
	Known     int                `json:"known"`   // imported before
	Matched   int                `json:"matched"` // logged before, by hand or from another format
	Incoming  int                `json:"incoming"`
	Totals    []Total            `json:"totals"`      // of the added expenses
	ByClass   []Total            `json:"by_category"` // of the added expenses
	Possible  []possibleTwin     `json:"possible_duplicates,omitempty"`
	Skipped   []bankfile.Skipped `json:"skipped,omitempty"`
	Notes     []string           `json:"notes,omitempty"`
	From      string             `json:"from,omitempty"`
	To        string             `json:"to,omitempty"`
	Source    provenance.Source  `json:"provenance"`
	SkippedOf int                `json:"skipped_count,omitempty"`
}

// possibleTwin is an imported expense that resembles one that was logged before.
type possibleTwin struct {
	Imported string `json:"imported"` // id
	Logged   string `json:"logged"`   // id
	Text     string `json:"text"`
}

func (d Deps) importExpenses() tools.Tool {
	return tools.New(tools.Def[importIn]{
		Spec: tools.Spec{
			Name: "import_expenses", Category: "money", Effects: tools.Write, Timeout: time.Minute,
			Description: "Import the spending in a bank's CSV, OFX or QIF file as expenses. Transactions imported or logged before are recognized. If the file leaves something open, ask the user and call again with the answer.",
			Keywords:    "import bank statement export transactions csv ofx qfx qif quicken revolut account card load",
		},
		Summary: func(in importIn) string { return "Import the expenses in " + textnorm.Ellipsize(in.Path, 200) },
		Prepare: func(ctx context.Context, _ tools.Call, in importIn) (any, error) {
			return d.openFile(ctx, in.Path, maxImport)
		},
		RunTx:  d.runImport,
		UndoTx: d.undoImport,
	})
}

// parseStatement parses the file with the answers in the arguments.
func (d Deps) parseStatement(c tools.Call, in importIn, f knowledge.File) (bankfile.Statement, error) {
	currency, err := parseCurrency(in.Currency, cmp.Or(d.Currency(), "EUR"))
	if err != nil {
		return bankfile.Statement{}, err
	}
	o := bankfile.Options{Currency: currency, Now: c.Now, DateOrder: tabular.Order(in.DateOrder), Spending: in.Spending, Encoding: in.Encoding, Columns: in.Columns}
	switch {
	case in.DateOrder != "" && o.DateOrder != tabular.DayFirst && o.DateOrder != tabular.MonthFirst && o.DateOrder != tabular.YearFirst:
		return bankfile.Statement{}, tools.Errorf(tools.InvalidArguments, "date_order must be dmy, mdy or ymd")
	case in.Spending != "" && in.Spending != "negative" && in.Spending != "positive":
		return bankfile.Statement{}, tools.Errorf(tools.InvalidArguments, "spending must be negative or positive")
	}
	s, err := bankfile.Parse(f.Content, o)
	if q, ok := errors.AsType[*bankfile.QuestionError](err); ok {
		return s, tools.Errorf(tools.InvalidArguments, "nothing was imported: %w; ask the user, then call again with %s", q, tools.Clean(q.Option))
	}
	if err != nil {
		return s, tools.Errorf(tools.InvalidArguments, "nothing was imported: %w", err)
	}
	return s, nil
}

func (d Deps) runImport(_ context.Context, tx *store.Tx, c tools.Call, in importIn) (tools.Result, error) {
	f, ok := c.Prepared.(knowledge.File)
	if !ok {
		return tools.Result{}, tools.Errorf(tools.Failed, "the file was not read")
	}
	s, err := d.parseStatement(c, in, f)
	if err != nil {
		return tools.Result{}, err
	}
	i := importer{
		Deps: d, tx: tx, call: c, statement: s, account: cmp.Or(strings.TrimSpace(in.Account), s.Account), fallback: cmp.Or(cleanCategory(in.Category), "other"),
		source: provenance.Worst(c.Provenance), out: importOut{File: filepath.Base(f.Path), Format: s.Format, Batch: shortid.New("b"), Notes: s.Notes, Source: sourceOfFile(f)},
	}
	if f.Source.Tainted() {
		i.source = provenance.Worst(i.source, f.Source)
	}
	if err := i.importAll(); err != nil {
		return tools.Result{}, err
	}
	i.out.Skipped, i.out.SkippedOf = i.statement.Skipped[:min(len(i.statement.Skipped), maxShownItems)], len(i.statement.Skipped)
	r := tools.Result{Source: sourceOfFile(f), Origins: f.Origins, Text: importText(i.out)}
	if i.out.Added+i.out.Matched > 0 {
		r.Undo = tools.NewUndo(fmt.Sprintf("remove the %d imported expenses", i.out.Added), i.out.Batch)
	} else {
		i.out.Batch = ""
	}
	r.Data = i.out
	return r, nil
}

// importer imports one statement in a transaction.
type importer struct {
	Deps
	tx        *store.Tx
	call      tools.Call
	statement bankfile.Statement
	account   string
	fallback  string
	source    provenance.Source
	out       importOut
	learned   vendorCategories
	known     map[string]bool // import keys of existing expenses
	keysOf    map[string][]string
	logged    []Expense // expenses of the period, which an entry may repeat
	used      map[string]bool
	seen      map[string]int // equal entries in the file
}

// bookingDays is the number of days after a purchase within which a bank books it.
const bookingDays = 5

func (i *importer) importAll() error {
	if err := i.loadLogged(); err != nil {
		return err
	}
	var added []Expense
	i.used, i.seen = map[string]bool{}, map[string]int{}
	for _, e := range i.statement.Entries {
		if e.Minor >= 0 {
			i.out.Incoming++
			continue
		}
		e.Minor = -e.Minor
		key, again := i.keyOf(e)
		switch {
		case again:
			i.out.Notes = append(i.out.Notes, fmt.Sprintf("entry %d repeats another one with the same id", e.Line))
		case e.Minor > maxMinor(e.Currency):
			i.statement.Skipped = append(i.statement.Skipped, bankfile.Skipped{Line: e.Line, Why: "its amount is too large"})
		case i.known[key]:
			i.out.Known++
		default:
			x, isNew, err := i.storeEntry(e, key)
			if err != nil {
				return err
			}
			if isNew {
				added = append(added, x)
			}
		}
	}
	i.out.Notes = i.out.Notes[:min(len(i.out.Notes), 10)]
	i.out.ByClass, i.out.Totals = sumTotals(added)
	i.out.Added = len(added)
	for _, x := range added {
		if i.out.From == "" || x.Day < i.out.From {
			i.out.From = x.Day
		}
		i.out.To = max(i.out.To, x.Day)
	}
	return nil
}

// loadLogged reads the expenses around the statement's period and the keys of imported ones.
func (i *importer) loadLogged() (err error) {
	if i.learned, err = learnedCategories(i.tx); err != nil {
		return err
	}
	first, last := "9999", ""
	for _, e := range i.statement.Entries {
		first, last = min(first, e.Day), max(last, e.Day)
	}
	if day, err := time.Parse(time.DateOnly, first); err == nil {
		first = day.AddDate(0, 0, -bookingDays).Format(time.DateOnly)
	}
	if i.logged, err = queryExpenses(i.tx, `WHERE day >= ? AND day <= ? ORDER BY day, created_at, id`, first, last); err != nil {
		return err
	}
	i.known, i.keysOf = map[string]bool{}, map[string][]string{}
	rows, err := i.tx.Query(`SELECT i.import_key, i.expense FROM expense_imports i JOIN expenses e ON e.id = i.expense`)
	if err != nil {
		return fmt.Errorf("expenses: read imports: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key, id string
		if err := rows.Scan(&key, &id); err != nil {
			return fmt.Errorf("expenses: read imports: %w", err)
		}
		i.known[key] = true
		i.keysOf[id] = append(i.keysOf[id], key)
	}
	return rows.Err()
}

// keyOf returns the key of an entry, which is the same when a later export repeats the entry. Equal
// entries without an id, such as two coffees on one day, are numbered. again is true if
// the file lists one transaction twice under its id.
func (i *importer) keyOf(e bankfile.Entry) (key string, again bool) {
	parts := []string{i.account, e.Day, amount.Format(e.Minor, e.Currency), e.Currency}
	hasID := strings.Trim(e.ID, "0") != "" && i.statement.Format != "qif"
	if hasID {
		parts = append(parts, e.ID)
	} else {
		parts = append(parts, strings.Join(textnorm.FoldedWords(e.Payee), " "), strings.Join(textnorm.FoldedWords(e.Memo), " "), e.Category)
	}
	same := strings.Join(parts, "\x00")
	i.seen[same]++
	if hasID && i.seen[same] > 1 {
		return "", true
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%d", same, i.seen[same])))
	return i.statement.Format + ":" + hex.EncodeToString(sum[:16]), false
}

// storeEntry links an entry to an expense that was logged before, or adds it.
func (i *importer) storeEntry(e bankfile.Entry, key string) (x Expense, isNew bool, err error) {
	twin, similar := i.findLogged(e)
	if twin != nil {
		i.used[twin.ID] = true
		i.out.Matched++
		return *twin, false, i.insertKey(key, twin.ID, false)
	}
	vendor := textnorm.Ellipsize(cmp.Or(e.Payee, e.Memo), 100)
	x = Expense{
		ID: shortid.New("x"), Amount: amount.Format(e.Minor, e.Currency), Currency: e.Currency, Vendor: vendor, Day: e.Day, Provenance: i.source,
		CreatedAt: i.call.Now.UTC().Truncate(time.Millisecond), minor: e.Minor, Category: cmp.Or(cleanCategory(e.Category), i.learned.findCategory(vendor), i.fallback),
	}
	if e.Payee != "" {
		x.Note = textnorm.Ellipsize(e.Memo, 300)
	}
	if similar != nil && len(i.out.Possible) < 10 {
		i.out.Possible = append(i.out.Possible, possibleTwin{x.ID, similar.ID, fmt.Sprintf("%s %s at %s, %s, and %s, %s", x.Amount, x.Currency, x.Vendor, x.Day, cmp.Or(similar.Vendor, similar.Category), similar.Day)})
	}
	if err := i.insertExpense(i.tx, x); err != nil {
		return x, false, err
	}
	return x, true, i.insertKey(key, x.ID, true)
}

// findLogged returns the expense that an entry repeats, or one that is only similar: it has the same
// amount and may be the purchase that the bank booked a few days later.
func (i *importer) findLogged(e bankfile.Entry) (twin, similar *Expense) {
	for n := range i.logged {
		x := &i.logged[n]
		if x.minor != e.Minor || x.Currency != e.Currency || i.used[x.ID] || x.Day > e.Day || i.hasKeyOfFormat(x.ID) {
			continue
		}
		day, err1 := time.Parse(time.DateOnly, x.Day)
		booked, err2 := time.Parse(time.DateOnly, e.Day)
		if err1 != nil || err2 != nil || booked.Sub(day) > bookingDays*24*time.Hour {
			continue
		}
		if isSameVendor(x.Vendor, e.Payee) || mentionsVendor(e, x.Vendor) || x.Vendor == "" && x.Day == e.Day {
			return x, nil
		}
		similar = x
	}
	return nil, similar
}

// hasKeyOfFormat reports whether an expense was imported from a file of the same format. Two entries
// of one format are two expenses.
func (i *importer) hasKeyOfFormat(id string) bool {
	for _, k := range i.keysOf[id] {
		if strings.HasPrefix(k, i.statement.Format+":") {
			return true
		}
	}
	return false
}

// mentionsVendor reports whether the text of an entry contains the first word of a vendor's name.
func mentionsVendor(e bankfile.Entry, vendor string) bool {
	first, _, _ := strings.Cut(vendorKey(vendor), " ")
	return len(first) >= 3 && strings.Contains(" "+strings.Join(textnorm.FoldedWords(e.Payee+" "+e.Memo), " ")+" ", " "+first+" ")
}

func (i *importer) insertKey(key, expense string, added bool) error {
	n := 0
	if added {
		n = 1
	}
	// the key of an expense that was removed may still be there
	_, err := i.tx.Exec(`INSERT INTO expense_imports (import_key, expense, batch, added) VALUES (?,?,?,?)
		ON CONFLICT (import_key) DO UPDATE SET expense = excluded.expense, batch = excluded.batch, added = excluded.added`, key, expense, i.out.Batch, n)
	if err != nil {
		return fmt.Errorf("expenses: note the import: %w", err)
	}
	return nil
}

// undoImport removes the expenses of an import. Expenses that were logged before stay.
func (d Deps) undoImport(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var batch string
	if err := json.Unmarshal(data, &batch); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	res, err := tx.Exec(`DELETE FROM expense_imports WHERE batch = ? AND added = 0`, batch)
	if err != nil {
		return "", fmt.Errorf("expenses: undo the import: %w", err)
	}
	linked, err := res.RowsAffected()
	if err != nil {
		return "", fmt.Errorf("expenses: undo the import: %w", err)
	}
	list, err := queryExpenses(tx, `WHERE id IN (SELECT expense FROM expense_imports WHERE batch = ?)`, batch)
	if err != nil {
		return "", err
	}
	if len(list) == 0 && linked == 0 {
		return "", tools.Errorf(tools.NotFound, "the imported expenses no longer exist")
	}
	for _, e := range list {
		if _, err := tx.Exec(`DELETE FROM expenses WHERE id = ?`, e.ID); err != nil {
			return "", fmt.Errorf("expenses: undo the import: %w", err)
		}
		if err := d.Knowledge.UnindexTx(tx, kindExpense, e.ID); err != nil {
			return "", err
		}
	}
	if _, err := tx.Exec(`DELETE FROM expense_imports WHERE batch = ?`, batch); err != nil {
		return "", fmt.Errorf("expenses: undo the import: %w", err)
	}
	return fmt.Sprintf("Removed %s.", textnorm.CountNoun(len(list), "imported expense", "imported expenses")), nil
}

func importText(o importOut) string {
	var sums []string
	for _, t := range o.Totals {
		sums = append(sums, t.Amount+" "+t.Currency)
	}
	text := fmt.Sprintf("Imported %s from %s", textnorm.CountNoun(o.Added, "expense", "expenses"), o.File)
	if o.Added > 0 {
		text += fmt.Sprintf(": %s, from %s to %s", strings.Join(sums, " and "), o.From, o.To)
	}
	text += "."
	for _, part := range []struct {
		n    int
		text string
	}{{o.Known, "imported before"}, {o.Matched, "logged before"}} {
		if part.n > 0 {
			text += fmt.Sprintf(" %d %s.", part.n, part.text)
		}
	}
	if o.Incoming > 0 {
		text += " Left out: " + textnorm.CountNoun(o.Incoming, "incoming payment", "incoming payments") + "."
	}
	for n, t := range o.ByClass {
		if n == maxShownItems {
			break
		}
		text += fmt.Sprintf("\n- %s: %s %s (%d)", t.Category, t.Amount, t.Currency, t.Count)
	}
	if o.SkippedOf > 0 {
		text += fmt.Sprintf("\nNot read: %s.", textnorm.CountNoun(o.SkippedOf, "entry", "entries"))
		for n, s := range o.Skipped {
			if n == 5 {
				break
			}
			text += fmt.Sprintf("\n- line %d: %s", s.Line, s.Why)
		}
	}
	for _, p := range o.Possible {
		text += "\nPossible duplicate: " + p.Text + "."
	}
	for _, n := range o.Notes {
		text += "\nNote: " + n + "."
	}
	return text
}
