package browser

import "time"

// limits are how long pages are waited for.
type limits struct {
	// load: until a page is loaded, and quiet: until it hardly fetches any more. What
	// is there then is what there is.
	load, quiet time.Duration
	// answer is how long a page may take for one of our scripts before it is said to
	// be busy with its own; click, to take a click.
	answer, click time.Duration
	// script is how long a script may run, with what it waits for.
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
