package browser

import "time"

// limits are how long pages are waited for.
type limits struct {
	// load is the time until a page is loaded, quiet the time until it makes few requests.
	// After that the page is read as it is.
	load, quiet time.Duration
	// answer is how long a page may take for one of Hob's scripts before it counts as busy;
	// click is the same for a click.
	answer, click time.Duration
	// script is the time limit of a script, including what it awaits.
	script time.Duration
	// read is how long a page is read.
	read time.Duration
	// calm is how long something that was done has to show what it does.
	calm time.Duration
}

func usual() limits {
	return limits{
		load: 20 * time.Second, quiet: 2 * time.Second, answer: 8 * time.Second, click: 3 * time.Second,
		script: 5 * time.Second, read: 2500 * time.Millisecond, calm: 400 * time.Millisecond,
	}
}
