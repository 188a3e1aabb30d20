// Package actionclaims finds statements in an answer that something was done, such as "I have sent
// the mail" and "Termin eingetragen". The caller checks whether it was done; the package does not
// know the ledger. The package prefers missing a claim to reporting a false one. The following do
// not count: questions, offers, negations, quotations, drafts, reports on other people's actions,
// and text that the answer itself contains ("I have written a summary below").
//
// The words for each language are in words/*.txt.
package actionclaims
