// Package actionclaims finds statements in an answer that something was done: "I have sent the mail",
// "Termin eingetragen". The caller checks whether it was done; the package does not know the
// ledger. It prefers to miss a claim over a false positive: questions, offers, negations,
// quotations, drafts, reports on the actions of other people and text that the answer itself
// contains ("I have written a summary below") do not count.
//
// The words of each language are in words/*.txt.
package actionclaims
