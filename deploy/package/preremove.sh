#!/bin/sh
# Stops the service before its command is removed, but not before an upgrade. Debian calls this with "remove", rpm with the number of
# packages that remain.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now tidemark.service
	fi
	;;
esac
