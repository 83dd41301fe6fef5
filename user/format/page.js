/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the page again every ten seconds and puts its main part in the place of the old one, so that
 * the server alone knows how anything is shown. Also hides the rows of tables that do not contain
 * what is typed. Names are text here as well: nothing is made from a string but by the parser of the
 * page itself, which runs no script of what it parses.
 */
(() => {
	"use strict";
	const PERIOD_MS = 10000;
	const tools = document.getElementById("tools");
	const filter = document.createElement("input");
	const label = document.createElement("label");
	const follow = document.createElement("input");
	const status = document.createElement("span");

	function show() {
		const wanted = filter.value.trim().toLowerCase();
		for (const row of document.querySelectorAll("tbody tr"))
			row.hidden = !row.textContent.toLowerCase().includes(wanted);
	}

	/* What the reader has moved or folded stays so. */
	function adopt(next) {
		const main = document.querySelector("main");
		const wide = main.querySelectorAll("section[id] > .wide");
		const places = new Map();
		for (const box of wide)
			places.set(box.parentElement.id, [box.scrollLeft, box.scrollTop]);
		for (const old of main.querySelectorAll("details[id]")) {
			const same = next.querySelector("#" + old.id);
			if (same)
				same.open = old.open;
		}
		main.replaceWith(next);
		for (const box of document.querySelectorAll("section[id] > .wide"))
			[box.scrollLeft, box.scrollTop] = places.get(box.parentElement.id) ?? [0, 0];
		show();
	}

	async function refresh() {
		if (!follow.checked || document.hidden || !getSelection().isCollapsed)
			return;
		try {
			const answer = await fetch(location.pathname, {cache: "no-store", credentials: "omit"});
			if (!answer.ok) {
				status.textContent =
					`The agent answered with status ${answer.status}; this is its last page.`;
				return;
			}
			const page = new DOMParser().parseFromString(await answer.text(), "text/html");
			adopt(document.adoptNode(page.querySelector("main")));
			status.textContent = "";
		} catch (error) {
			status.textContent = "The agent does not answer; this is its last page.";
		}
	}

	filter.type = "search";
	filter.placeholder = "Filter rows";
	filter.setAttribute("aria-label", "Filter rows of tables");
	filter.addEventListener("input", show);
	follow.type = "checkbox";
	follow.checked = true;
	label.append(follow, " refresh");
	status.className = "late";
	status.setAttribute("role", "status");
	tools.append(status, filter, label);
	setInterval(refresh, PERIOD_MS);
	/* Not only at the next turn, if the page was hidden. */
	document.addEventListener("visibilitychange", refresh);
})();
