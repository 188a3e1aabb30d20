-- Sends to a person by address: macOS 13 and later.
on main(request)
	my awake()
	set theThing to my payload(request)
	set theTarget to my textOf(request, "target")
	set bySMS to (my textOf(request, "service")) is "SMS"
	with timeout of 12 seconds
		tell application id "com.apple.MobileSMS"
			if bySMS then
				set theAccount to 1st account whose service type = SMS
			else
				set theAccount to 1st account whose service type = iMessage
			end if
			set thePerson to participant theTarget of theAccount
			my commence()
			send theThing to thePerson
		end tell
	end timeout
	return {taken:true}
end main
