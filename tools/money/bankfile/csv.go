package bankfile

import (
	"fmt"
	"strconv"
	"strings"

	"hob/platform/text/amount"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
)

// headings maps the meaning of a column to its headings, folded, the best first. Banks use their own
// language.
var headings = map[string][]string{
	"date": {
		"transaction date", "date", "datum", "buchungstag", "booking date", "data", "fecha", "fecha operacion", "date operation", "date de l operation", "data operazione", "data transakcji", "transaktionsdatum", "bokforingsdag", "operacijos data", "дата", "дата операции", "kuupaev", "datums",
		"started date", "completed date", "buchungsdatum", "buchung", "posted date", "posting date", "post date", "trans date", "date utc", "created on", "kirjauspaiva", "data movimento", "data ksiegowania", "date comptable", "value date", "valutadatum", "wertstellung", "data valuta",
	},
	"amount": {
		"amount", "betrag", "umsatz", "suma", "summa", "montant", "importe", "importo", "bedrag", "kwota", "belopp", "valor", "сумма", "transaction amount", "kwota operacji", "umsatz in", "maara", "castka", "belob",
	},
	"debit": {
		"debit", "soll", "withdrawal", "withdrawals", "money out", "paid out", "debit amount", "uitgaven", "debe", "cargo", "dare", "uscite", "debetas", "obciazenia", "ausgang", "outflow", "ausgaben", "debits",
	},
	"credit": {
		"credit", "haben", "deposit", "deposits", "money in", "paid in", "credit amount", "haber", "abono", "avere", "entrate", "kreditas", "uznania", "eingang", "inflow", "einnahmen", "credits",
	},
	"currency": {"currency", "wahrung", "waehrung", "valiuta", "devise", "divisa", "moneda", "waluta", "ccy", "currency code", "valuta", "валюта"},
	"payee": {
		"payee", "merchant", "merchant name", "counterparty", "beguenstigter zahlungspflichtiger", "begunstigter zahlungspflichtiger", "auftraggeber empfanger", "zahlungsempfanger", "zahlungsempfanger in", "empfanger", "beneficiary", "gavejas", "moketojas gavejas", "gavejas moketojas",
		"tegenpartij", "naam tegenpartij", "naam omschrijving", "kontrahent", "nadawca odbiorca", "beneficiaire", "beneficiario", "destinatario", "recipient", "vendor", "name description", "payee payer", "saaja maksja", "sanemejs maksatajs", "shop", "name", "title", "payer payee",
	},
	"memo": {
		"description", "memo", "details", "verwendungszweck", "payment reference", "reference", "narrative", "paaiskinimai", "mokejimo paskirtis", "paskirtis", "selgitus", "informacija sanemejam", "omschrijving", "mededelingen", "tytul", "opis", "opis transakcji", "libelle", "concepto", "descrizione", "causale", "notes", "note", "text", "buchungstext", "transaction description", "purpose", "particulars", "назначение платежа", "описание",
	},
	"category":  {"category", "kategorie", "kategorija", "categorie", "categoria", "kategoria"},
	"direction": {"d k", "deebet kreedit", "debets kredits", "debit credit", "dr cr", "af bij", "soll haben", "s h", "credit debit indicator", "debit credit indicator", "credit debit", "direction", "debit or credit", "transaction type", "type"},
	"id":        {"transaction id", "id", "unique id", "entry reference", "transaction reference", "iraso nr"},
	"status":    {"state", "status", "info"},
	"fee":       {"fee", "fees"},
}

// headerRows is the number of rows in which the headings are searched.
const headerRows = 40

func parseCSV(text string, o Options) (Statement, error) {
	rows, err := tabular.ReadRows(text)
	if err != nil {
		return Statement{}, err
	}
	if len(rows) == 0 {
		return Statement{}, ErrNoTransactions
	}
	t := &csvTable{Options: o}
	if err := t.findColumns(rows); err != nil {
		return Statement{}, err
	}
	return t.readEntries()
}

// csvTable is a table whose columns have a meaning.
type csvTable struct {
	Options
	columns   map[string]int
	rows      []tabular.Row // below the headings
	headings  []string
	statement Statement
}

// findColumns finds the headings and the meaning of each column.
func (t *csvTable) findColumns(rows []tabular.Row) error {
	best := -1
	for i, row := range rows[:min(len(rows), headerRows)] {
		c := matchHeadings(row.Cells)
		_, dated := c["date"]
		if dated && hasAmounts(c) && (best < 0 || len(c) > len(t.columns)) {
			best, t.columns = i, c
		}
	}
	if best < 0 {
		best, t.columns = 0, map[string]int{}
	}
	t.headings, t.rows = rows[best].Cells, rows[best+1:]
	for meaning, name := range t.Columns {
		if _, ok := headings[meaning]; !ok {
			return &QuestionError{"columns", fmt.Sprintf("columns has no %q; give date, amount, debit, credit, payee, memo, currency, category, direction or id", textnorm.Ellipsize(meaning, 40))}
		}
		at, ok := t.findHeading(name)
		if !ok {
			return &QuestionError{"columns", fmt.Sprintf("there is no column %q; the columns are %s", textnorm.Ellipsize(name, 40), t.listHeadings())}
		}
		t.columns[meaning] = at
	}
	if _, ok := t.columns["date"]; !ok || !hasAmounts(t.columns) {
		return &QuestionError{"columns", "which columns contain the date and the amount? The columns are " + t.listHeadings()}
	}
	if _, err := strconv.Atoi(t.Columns["date"]); err == nil { // given by numbers, so there may be no headings
		if _, ok := tabular.ParseDay(t.cellOf(rows[best], "date"), tabular.DayFirst); ok {
			t.rows = rows[best:]
		}
	}
	return nil
}

func hasAmounts(columns map[string]int) bool {
	_, amounts := columns["amount"]
	_, debits := columns["debit"]
	return amounts || debits
}

// matchHeadings returns the columns whose headings are known.
func matchHeadings(cells []string) map[string]int {
	out := map[string]int{}
	rank := map[string]int{}
	for i, cell := range cells {
		words := strings.Join(textnorm.FoldedWords(cell), " ")
		for meaning, list := range headings {
			for n, h := range list {
				plain := strings.TrimSpace(strings.TrimSuffix(words, " "+strings.ToLower(currencyOfHeading(cell))))
				if words != h && plain != h {
					continue
				}
				if old, ok := rank[meaning]; !ok || n < old {
					out[meaning], rank[meaning] = i, n
				}
			}
		}
	}
	if p, ok := out["payee"]; ok && out["memo"] == p {
		delete(out, "memo")
	}
	return out
}

// currencyOfHeading returns the currency in a heading such as "Amount (EUR)".
func currencyOfHeading(heading string) string {
	for _, w := range strings.FieldsFunc(heading, func(r rune) bool { return strings.ContainsRune(" ()[],;/", r) }) {
		if amount.IsCode(w) && w != "IBA" {
			return w
		}
		if c, ok := amount.BySymbol(w, ""); ok {
			return c
		}
	}
	return ""
}

// findHeading returns a column by its heading, or by its number from 1.
func (t *csvTable) findHeading(name string) (int, bool) {
	for i, h := range t.headings {
		if textnorm.EqualFolded(h, name) {
			return i, true
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(name))
	return n - 1, err == nil && n >= 1 && n <= len(t.headings)
}

func (t *csvTable) listHeadings() string {
	var out []string
	for i, h := range t.headings {
		if i == 20 {
			out = append(out, "...")
			break
		}
		out = append(out, fmt.Sprintf("%d %q", i+1, textnorm.Ellipsize(h, 30)))
	}
	return strings.Join(out, ", ")
}

// cellOf returns the cell of a row with a meaning, "" if there is none.
func (t *csvTable) cellOf(row tabular.Row, meaning string) string {
	i, ok := t.columns[meaning]
	if !ok || i >= len(row.Cells) {
		return ""
	}
	return row.Cells[i]
}

// columnCells returns the cells of a column that are not empty.
func (t *csvTable) columnCells(meanings ...string) (out []string) {
	for _, m := range meanings {
		for _, r := range t.rows {
			if c := t.cellOf(r, m); c != "" {
				out = append(out, c)
			}
		}
	}
	return out
}

func (t *csvTable) readEntries() (Statement, error) {
	t.statement.Format = "csv"
	order, err := resolveOrder(t.columnCells("date"), t.Options)
	if err != nil {
		return t.statement, err
	}
	mark, err := resolveMark(t.columnCells("amount", "debit", "credit", "fee"), t.currencyOf(tabular.Row{}))
	if err != nil {
		return t.statement, err
	}
	directions := t.hasDirections()
	for _, row := range t.rows {
		e, why := t.readEntry(row, order, mark, directions)
		switch {
		case why == ignored:
		case why != "":
			t.statement.Skipped = append(t.statement.Skipped, Skipped{row.Line, why})
		default:
			t.statement.Entries = append(t.statement.Entries, e)
		}
	}
	if _, debits := t.columns["debit"]; debits || directions {
		return t.statement, nil
	}
	return t.statement, t.resolveSign()
}

// ignored is the reason for rows that are no transactions, which are not reported.
const ignored = "-"

func (t *csvTable) readEntry(row tabular.Row, order tabular.Order, mark rune, directions bool) (e Entry, why string) {
	e = Entry{Line: row.Line, Currency: t.currencyOf(row), Payee: cleanText(t.cellOf(row, "payee")), Memo: cleanText(t.cellOf(row, "memo")), Category: cleanText(t.cellOf(row, "category")), ID: cleanText(t.cellOf(row, "id"))}
	number, sign := t.amountOf(row, directions)
	day := t.cellOf(row, "date")
	switch {
	case number == "" && day == "", isBalance(e):
		return e, ignored
	case number == "":
		return e, "it has no amount"
	case isNotBooked(t.cellOf(row, "status")):
		return e, "it is not booked: " + cleanText(t.cellOf(row, "status"))
	}
	if e.Day, why = checkDay(day, order, t.Now); why != "" {
		return e, why
	}
	minor, err := amount.Parse(number, mark, e.Currency)
	if err != nil {
		return e, err.Error()
	}
	switch sign {
	case -1:
		minor = -max(minor, -minor)
	case 1:
		minor = max(minor, -minor)
	}
	if fee, err := amount.Parse(t.cellOf(row, "fee"), mark, e.Currency); err == nil {
		minor -= max(fee, -fee)
	}
	e.Minor = minor
	return e, ""
}

// amountOf returns the amount of a row and its sign, 0 if the amount has its own.
func (t *csvTable) amountOf(row tabular.Row, directions bool) (number string, sign int64) {
	if _, ok := t.columns["debit"]; ok {
		debit, credit := t.cellOf(row, "debit"), t.cellOf(row, "credit")
		if strings.Trim(debit, "0.,- ") != "" {
			return debit, -1
		}
		return credit, 1
	}
	if directions {
		sign = signOf(t.cellOf(row, "direction"))
	}
	return t.cellOf(row, "amount"), sign
}

// hasDirections reports whether a column states for each row whether money was spent.
func (t *csvTable) hasDirections() bool {
	list := t.columnCells("direction")
	for _, w := range list {
		if signOf(w) == 0 {
			return false
		}
	}
	return len(list) > 0
}

func (t *csvTable) currencyOf(row tabular.Row) string {
	c := t.cellOf(row, "currency")
	if code := strings.ToUpper(strings.TrimSpace(c)); amount.IsCode(code) {
		return code
	}
	if code, ok := amount.BySymbol(c, t.Currency); ok {
		return code
	}
	for _, meaning := range []string{"amount", "debit"} {
		if i, ok := t.columns[meaning]; ok && i < len(t.headings) {
			if code := currencyOfHeading(t.headings[i]); code != "" {
				return code
			}
		}
	}
	return t.Currency
}

// isBalance reports whether a row states a balance or a total instead of a transaction.
func isBalance(e Entry) bool {
	if e.Payee != "" {
		return false
	}
	words := strings.Join(textnorm.FoldedWords(e.Memo), " ")
	for _, w := range []string{"likutis", "apyvarta", "opening balance", "closing balance", "beginning balance", "ending balance", "balance brought forward", "balance carried forward", "anfangssaldo", "endsaldo", "saldo", "kontostand", "turnover", "total", "solde"} {
		if words == w || strings.HasPrefix(words, w+" ") {
			return true
		}
	}
	return false
}

// isNotBooked reports whether a status says that no money was moved yet, or at all.
func isNotBooked(status string) bool {
	words := " " + strings.Join(textnorm.FoldedWords(status), " ") + " "
	for _, w := range []string{"pending", "reverted", "declined", "failed", "cancelled", "canceled", "vorgemerkt", "authorised", "authorized", "rejected"} {
		if strings.Contains(words, " "+w+" ") {
			return true
		}
	}
	return false
}

// resolveSign finds out whether spending is negative. Some card statements list it as positive.
func (t *csvTable) resolveSign() error {
	s := &t.statement
	negative, positive := 0, 0
	for _, e := range s.Entries {
		if e.Minor < 0 {
			negative++
		} else if e.Minor > 0 {
			positive++
		}
	}
	switch {
	case t.Spending == "positive":
		for i := range s.Entries {
			s.Entries[i].Minor = -s.Entries[i].Minor
		}
	case t.Spending == "negative", negative >= positive:
	default:
		return &QuestionError{"spending", fmt.Sprintf("most amounts are positive (%d of %d): is money that was spent positive in this file, or negative?", positive, positive+negative)}
	}
	return nil
}
