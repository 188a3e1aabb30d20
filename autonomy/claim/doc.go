// Package claim finds what an answer says was done: "I have sent the mail",
// "Termin eingetragen". Whether it was done is for the caller to look up; it
// knows no ledger. It is built to miss a claim rather than to see one where
// there is none: questions, offers, negations, quotations, drafts, reports of
// what somebody else did and text that the answer itself contains ("I have
// written a summary below") are no claims.
//
// The words of each language lie in words/*.txt.
package claim
