package money

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/dateparse"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
	"hob/tools/money/receipt"
)

type receiptIn struct {
	Text     string      `json:"text,omitempty" jsonschema:"text of the receipt"`
	Path     string      `json:"path,omitempty" jsonschema:"file instead: a photo, a PDF or a text"`
	Log      bool        `json:"log,omitempty" jsonschema:"log the total as an expense"`
	Category string      `json:"category,omitempty" jsonschema:"for log"`
	Date     string      `json:"date,omitempty" jsonschema:"the user's answer if the date is unclear"`
	Total    json.Number `json:"total,omitempty" jsonschema:"the user's answer if the total is unclear"`
	Currency string      `json:"currency,omitempty" jsonschema:"the user's answer if the currency is unclear"`
}

// receiptOut is the Data of parse_receipt.
type receiptOut struct {
	receipt.Receipt
	Expense *Expense `json:"expense,omitempty"`
}

func (d Deps) parseReceipt() tools.Tool {
	return tools.New(tools.Def[receiptIn]{
		Spec: tools.Spec{
			Name: "parse_receipt", Category: "money", Effects: tools.Write, Timeout: 90 * time.Second,
			Description: "Read a receipt or invoice (text, photo or PDF): shop, day, currency, lines, tax and total, and check that they add up. Logs the total on request. Ask the user what it returns as questions.",
			Keywords:    "receipt bill invoice scan photo till slip purchase total tax vat shop",
		},
		Summary: func(in receiptIn) string {
			text := "Read a receipt"
			if in.Path != "" {
				text = "Read the receipt " + textnorm.Ellipsize(in.Path, 200)
			}
			if in.Log {
				text += " and log its total"
			}
			return text
		},
		Judge: func(_ context.Context, in receiptIn) tools.CallAssessment {
			if !in.Log {
				return tools.CallAssessment{Effects: tools.Read}
			}
			return tools.CallAssessment{}
		},
		Prepare: func(ctx context.Context, c tools.Call, in receiptIn) (any, error) {
			return d.readDocument(ctx, c, in.Path, in.Text)
		},
		RunTx:  d.runReceipt,
		UndoTx: d.undoExpense,
	})
}

func (d Deps) runReceipt(_ context.Context, tx *store.Tx, c tools.Call, in receiptIn) (tools.Result, error) {
	from, ok := c.Prepared.(readText)
	if !ok {
		return tools.Result{}, tools.Errorf(tools.Failed, "the receipt was not read")
	}
	own := cmp.Or(d.Currency(), "EUR")
	r := receipt.Parse(from.text, receipt.Options{Currency: own, Now: c.Now})
	if r.Total == nil && len(r.Items) == 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "no amounts were recognized, so this does not look like a receipt; give a clearer picture or the text")
	}
	if err := applyAnswers(&r, c, in, own); err != nil {
		return tools.Result{}, err
	}
	data := receiptOut{Receipt: r}
	out := tools.Result{Source: from.source, Origins: from.origins, Text: receiptText(r, c.Now), Data: data}
	switch {
	case !in.Log:
		return out, nil
	case len(r.Questions) > 0:
		out.Text += "\nNothing was logged, because the questions are open."
		return out, nil
	}
	e, known, err := d.expenseOfReceipt(tx, c, in, r, from)
	if err != nil {
		return tools.Result{}, err
	}
	data.Expense = &e
	out.Data = data
	if known {
		out.Text += fmt.Sprintf("\nIt was logged before (%s), so nothing was added.", e.ID)
		return out, nil
	}
	if err := d.insertExpense(tx, e); err != nil {
		return tools.Result{}, err
	}
	out.Text += fmt.Sprintf("\nLogged %s %s for %s.", e.Amount, e.Currency, e.Category)
	out.Undo = tools.NewUndo("remove the expense of "+e.Amount+" "+e.Currency, e.ID)
	return out, nil
}

// applyAnswers replaces what the receipt does not show by the user's answers.
func applyAnswers(r *receipt.Receipt, c tools.Call, in receiptIn, own string) error {
	if in.Currency != "" {
		currency, err := parseCurrency(in.Currency, own)
		if err != nil {
			return err
		}
		if amount.Digits(currency) != amount.Digits(r.Currency) {
			return tools.Errorf(tools.InvalidArguments, "the amounts on the receipt do not have the decimals of %s", tools.Clean(currency))
		}
		r.Currency, r.Assumed = currency, false
	}
	if in.Total != "" {
		minor, err := minorOf(in.Total.String(), r.Currency)
		if err != nil {
			return err
		}
		r.Total = &receipt.Line{Text: "confirmed by the user", Amount: amount.Format(minor, r.Currency), Minor: minor}
	}
	if in.Date != "" {
		day, err := tools.ParsePastDay(in.Date, c.Now)
		if err != nil {
			return err
		}
		r.Date = day.Format(time.DateOnly)
	}
	var open []receipt.Question
	for _, q := range r.Questions {
		answered := map[string]bool{"date": in.Date != "", "total": in.Total != "", "currency": in.Currency != ""}
		if !answered[q.About] {
			open = append(open, q)
		}
	}
	r.Questions = open
	return nil
}

// expenseOfReceipt returns the expense of a receipt. known is true if it was logged before.
func (d Deps) expenseOfReceipt(tx *store.Tx, c tools.Call, in receiptIn, r receipt.Receipt, from readText) (e Expense, known bool, err error) {
	if r.Total.Minor <= 0 || r.Total.Minor > maxMinor(r.Currency) {
		return e, false, tools.Errorf(tools.InvalidArguments, "the total of the receipt is not an amount that was spent, so it cannot be logged")
	}
	same, err := queryExpenses(tx, `WHERE day = ? AND minor = ? AND currency = ? ORDER BY created_at, id`, r.Date, r.Total.Minor, r.Currency)
	if err != nil {
		return e, false, err
	}
	for _, s := range same {
		if s.Vendor == "" || isSameVendor(s.Vendor, r.Vendor) {
			return s, true, nil
		}
	}
	category := cleanCategory(in.Category)
	if category == "" {
		learned, err := learnedCategories(tx)
		if err != nil {
			return e, false, err
		}
		category = cmp.Or(learned.findCategory(r.Vendor), "other")
	}
	prov := provenance.Worst(c.Provenance)
	if from.source.Tainted() {
		prov = provenance.Worst(prov, from.source)
	}
	var names []string
	for _, i := range r.Items {
		names = append(names, i.Text)
	}
	return Expense{
		ID: shortid.New("x"), Amount: r.Total.Amount, Currency: r.Currency, Category: category, Vendor: r.Vendor, Note: textnorm.Ellipsize(strings.Join(names, ", "), 300), Day: r.Date,
		Provenance: prov, CreatedAt: c.Now.UTC().Truncate(time.Millisecond), minor: r.Total.Minor,
	}, false, nil
}

// maxShownItems limits the lines in the text of a result; the data contains all.
const maxShownItems = 40

func receiptText(r receipt.Receipt, now time.Time) string {
	var b strings.Builder
	b.WriteString(cmp.Or(r.Vendor, "Unknown shop"))
	if day, err := time.ParseInLocation(time.DateOnly, r.Date, now.Location()); err == nil {
		b.WriteString(", " + dateparse.FormatDay(day, now) + " (" + r.Date + ")")
	}
	if r.Total != nil {
		fmt.Fprintf(&b, ": %s %s", r.Total.Amount, r.Currency)
	}
	if r.Assumed {
		fmt.Fprintf(&b, " (no currency is printed; %s is the user's)", r.Currency)
	}
	b.WriteString(".")
	for i, item := range r.Items {
		if i == maxShownItems {
			fmt.Fprintf(&b, "\n- and %d more", len(r.Items)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", strings.TrimSpace(item.Quantity+" "+item.Text), item.Amount)
	}
	for _, t := range r.Taxes {
		kind := "included"
		if r.OnTop {
			kind = "on top"
		}
		rate := ""
		if t.Rate != "" {
			rate = " " + t.Rate + " %"
		}
		fmt.Fprintf(&b, "\nTax%s: %s (%s)", rate, t.Amount, kind)
	}
	if r.Tip != nil {
		fmt.Fprintf(&b, "\nTip: %s", r.Tip.Amount)
	}
	for _, c := range r.Checks {
		b.WriteString("\nCheck: " + c + ".")
	}
	for _, q := range r.Questions {
		b.WriteString("\nQuestion to the user: " + q.Text)
	}
	return b.String()
}
