-- What the scripts over Mail share.
on box(wanted)
	tell application id "com.apple.mail"
		if wanted is "" or wanted is "inbox" then return inbox
		if wanted is "sent" then return sent mailbox
		if wanted is "drafts" then return drafts mailbox
		if wanted is "trash" then return trash mailbox
		if wanted is "junk" then return junk mailbox
		repeat with oneAccount in every account
			repeat with oneBox in every mailbox of oneAccount
				if name of oneBox is wanted then return contents of oneBox
			end repeat
		end repeat
	end tell
	error "no such folder" number -1728
end box

on awake()
	if application id "com.apple.mail" is not running then error "not running" number 9600
end awake

on textOf(request, key)
	return (request's valueForKey:key) as text
end textOf

on numberOf(request, key)
	return (request's valueForKey:key) as integer
end numberOf

on millis(moment)
	set wrapped to current application's NSArray's arrayWithObject:moment
	return ((wrapped's firstObject()'s timeIntervalSince1970()) as real) * 1000
end millis
