// SPDX-License-Identifier: GPL-2.0-or-later
// The page: the flame graph by thread, process, name or all together; a table of stacks; callers and callees of a function.
'use strict';

const html = (name, attributes, ...children) => element(XHTML, name, attributes, ...children);

// The same stacks, merged otherwise: the roots of kind t, threads, are renamed or left away, and filtered.
// rename(label): the root's new label, or null: none. wanted(label): false: without the stacks of this thread
function regrouped(tree, rename, wanted) {
	const labels = tree.labels.slice(), known = new Map();
	const made = new FlameTree(labels, tree.unit);
	const to = new Int32Array(tree.parent.length);
	made.compared = tree.compared;
	for (let i = 1; i < tree.parent.length; i++) {
		const parent = tree.parent[i], label = tree.labels[tree.label[i]];
		let number = tree.label[i];
		if (to[parent] < 0 || (!parent && !wanted(label))) {
			to[i] = -1;
			continue;
		}
		if (!parent && label.kind === 't') {
			const root = rename(label);
			if (!root) {
				made.rootless = true;
				to[i] = 0;
				made.self[0] += tree.self[i];
				made.before[0] += tree.before[i];
				continue;
			}
			const key = root.text + '\0' + root.pid + '\0' + root.tid;
			if (!known.has(key))
				known.set(key, labels.push(root) - 1);
			number = known.get(key);
		}
		to[i] = made.callee(to[parent], number);
		made.self[to[i]] += tree.self[i];
		made.before[to[i]] += tree.before[i];
	}
	return made.finish();
}

// Does a waker's side begin here, upside down? What was woken up ends above it.
function beginsWaker(tree, node) {
	return (tree.parent[node] > 0 || tree.rootless) && tree.kind(node) === 't' && tree.name(node) === '--';
}

// For each function: its own value, and that with its callees, recursion counted once.
function functionsOf(tree) {
	const rows = new Map(), above = new Map();
	const waiting = [[0, false]];
	while (waiting.length) {
		const [node, leaving] = waiting.pop(), label = tree.label[node];
		if (leaving) {
			above.set(label, above.get(label) - 1);
			continue;
		}
		if (node && tree.kind(node) !== 't') {
			if (!rows.has(label))
				rows.set(label, {label, self: 0, total: 0, before: 0});
			const row = rows.get(label);
			row.self += tree.self[node];
			if (!above.get(label)) {
				row.total += tree.total[node];
				row.before += tree.totalBefore[node];
			}
			above.set(label, (above.get(label) ?? 0) + 1);
			waiting.push([node, true]);
		}
		for (const callee of tree.callees[node] ?? [])
			if (!beginsWaker(tree, callee))
				waiting.push([callee, false]);
			else if (rows.has(label))
				rows.get(label).self += tree.total[callee];
	}
	return [...rows.values()];
}

// The outermost nodes of a function.
function nodesOf(tree, label) {
	const found = [], waiting = [0];
	while (waiting.length) {
		const node = waiting.pop();
		if (tree.label[node] === label)
			found.push(node);
		else
			for (const callee of tree.callees[node] ?? [])
				if (!beginsWaker(tree, callee))
					waiting.push(callee);
	}
	return found;
}

// What a function calls: its subtrees, merged.
function calleesOf(tree, label) {
	const made = new FlameTree(tree.labels, tree.unit);
	const waiting = nodesOf(tree, label).map(node => [node, made.callee(0, label)]);
	made.compared = tree.compared;
	while (waiting.length) {
		const [node, to] = waiting.pop();
		made.self[to] += tree.self[node];
		made.before[to] += tree.before[node];
		for (const callee of tree.callees[node] ?? [])
			waiting.push([callee, made.callee(to, tree.label[callee])]);
	}
	return made.finish();
}

// What calls it: the ways to the root, merged from the function on.
function callersOf(tree, label) {
	const made = new FlameTree(tree.labels, tree.unit);
	made.compared = tree.compared;
	for (const node of nodesOf(tree, label)) {
		let to = made.callee(0, label);
		for (let caller = tree.parent[node]; caller; caller = tree.parent[caller])
			to = made.callee(to, tree.label[caller]);
		made.self[to] += tree.total[node];
		made.before[to] += tree.totalBefore[node];
	}
	return made.finish();
}

// The stacks themselves, the largest first.
function stacksOf(tree, most) {
	const stacks = [];
	tree.self.forEach((self, node) => { if (self || tree.before[node]) stacks.push(node); });
	stacks.sort((a, b) => tree.self[b] - tree.self[a] || a - b);
	return {nr: stacks.length, first: stacks.slice(0, most)};
}

// Builds the page in the document's body. data: as report/flame_data.c writes it, without what its tree was made of
function flamePage(data, whole) {
	const picture = element(SVG, 'svg', {});
	const resized = flame => height => flame().host.setAttribute('height', height);
	const flame = new Flame(picture, {rootBelow: false, ondraw: resized(() => flame)});
	flame.tree = whole;
	const groups = {
		name: ['by name', label => ({...label, pid: 0, tid: 0})],
		process: ['by process', label => label.tid ? {...label, text: processName(label.pid), pid: 0, tid: 0} : label],
		thread: ['by thread', label => label],
		none: ['all together', () => null],
	};
	let threads, processes;
	const processName = pid => `${processes.get(pid)} (${pid})${data.commands[pid] ? ': ' + data.commands[pid] : ''}`;
	const head = html('header', {}), legend = html('div', {class: 'legend'});

	// ---- which stacks ----
	const select = label => html('select', {'aria-label': label, title: label});
	// What is chosen stays, also where it is no choice now: a process may sleep for a while.
	const fill = (made, choices) => {
		const {value: chosen = '', text} = made.selectedOptions[0] ?? {};
		if (chosen && !choices.some(([value]) => value === chosen))
			choices.push([chosen, text]);
		made.replaceChildren(...choices.map(([value, text]) => html('option', {value}, text)));
		made.value = chosen || choices[0][0];
	};
	const group = select('group'), filter = select('only');
	fill(group, Object.entries(groups).map(([key, [text]]) => [key, text]));

	// What the page shows of this data and its tree.
	const take = (newData, newTree) => {
		data = newData;
		whole = newTree;
		threads = whole.labels.filter(label => label.kind === 't' && label.tid);
		// A process has the name of its main thread, if that is among them: the one it had for longest.
		processes = new Map();
		const roots = (whole.callees[0] ?? []).map(node => whole.labels[whole.label[node]]);
		for (const main of [true, false])
			for (const label of roots)
				if (label.tid && (label.pid === label.tid) === main && !processes.has(label.pid))
					processes.set(label.pid, label.text);
		head.replaceChildren(html('h1', {}, data.title), html('p', {}, data.when), ...data.notes.map(note => html('p', {}, note)));
		legend.replaceChildren();
		for (const kind in FRAME_KINDS)
			if (!whole.compared && data.kinds.includes(kind))
				legend.append(html('span', {}, element(SVG, 'svg', {}, element(SVG, 'rect', {class: kind, width: 12, height: 12})), FRAME_KINDS[kind]));
		if (whole.compared)
			legend.append('red: more than before, blue: less');
		fill(filter, [['', 'all threads'],
			...[...processes].sort((a, b) => a[0] - b[0]).map(([pid]) => ['p' + pid, 'process ' + processName(pid)]),
			...threads.sort((a, b) => a.tid - b.tid).map(label => ['t' + label.tid, `thread ${label.text} (${label.pid}/${label.tid})`])]);
		group.hidden = filter.hidden = !threads.length && !filter.value;
	};

	let tree = whole, reversed = null;	// reversed: the tree from the leaf on, once it was asked for
	const showGraph = again => {
		turn.setAttribute('aria-pressed', fromLeaf);
		const shown = fromLeaf ? reversed ??= tree.bottomUp() : tree;
		if (again)
			flame.update(shown);
		else
			flame.show(shown);
		flame.onselect(again ? flame.selected : 0);
	};

	// ---- the views ----
	const share = value => flameShare(value, tree.total[0]);
	const cells = (...values) => values.map((value, i) => html('td', i === values.length - 1 ? {class: 'name'} : {}, value));
	const table = (names, rows) => html('table', {}, html('thead', {}, html('tr', {}, ...names.map(name => html('th', {}, name)))),
		html('tbody', {}, ...rows));
	const fit = () => { flame.width = Math.max(300, document.body.clientWidth); };
	const unit = () => tree.unit === 'ns' ? 'time' : tree.unit;
	const opened = new Set();	// stacks, as text
	const functionsBy = [row => row.self, row => row.self, row => row.total, row => row.total];
	let functionsKey = functionsBy[2], chosen = null;	// chosen: a function's name
	const views = {
		graph: ['Flame graph', again => {
			if (again)
				return null;
			fit();
			return [controls, picture];
		}, again => { fit(); showGraph(again); }],
		stacks: ['Stacks', () => {
			const {nr, first} = stacksOf(tree, 500);
			const rows = first.map(node => {
				const key = tree.path(node).map(frame => tree.name(frame)).join('\n');
				const details = html('details', {}, html('summary', {}, tree.name(node)),
					...tree.path(node).reverse().map(frame => html('div', {}, tree.name(frame))));
				details.open = opened.has(key);
				details.addEventListener('toggle', () => opened[details.open ? 'add' : 'delete'](key));
				return html('tr', {}, ...cells(flameValue(tree.self[node], tree.unit), share(tree.self[node]), details));
			});
			return [html('p', {}, `${first.length} of ${nr} stacks, the largest first; the leaf, and on a click its callers`),
				table([unit(), 'share', 'stack'], rows)];
		}],
		functions: ['Functions', again => {
			const rows = functionsOf(tree), list = html('div', {class: 'scroll'}), shown = html('div', {});
			const names = ['self', 'share', 'total', 'share', 'function'];
			const above = again ? place.querySelector('.scroll').scrollTop : 0;
			const choose = label => {
				chosen = tree.labels[label].text;
				for (const row of list.querySelectorAll('tr'))
					row.classList.toggle('chosen', row.dataset.label === String(label));
				shown.replaceChildren(...butterfly(label));
			};
			const fill = () => {
				rows.sort((a, b) => functionsKey(b) - functionsKey(a) || a.label - b.label);
				const made = table(names, rows.slice(0, 1000).map(row => {
					const line = html('tr', {'data-label': row.label}, ...cells(flameValue(row.self, tree.unit), share(row.self),
						flameValue(row.total, tree.unit), share(row.total), tree.labels[row.label].text));
					line.addEventListener('click', () => choose(row.label));
					return line;
				}));
				made.querySelectorAll('th').forEach((cell, i) => cell.addEventListener('click', () => {
					functionsKey = functionsBy[i] ?? functionsKey;
					fill();
				}));
				list.replaceChildren(made);
			};
			fill();
			if (rows.length)
				setTimeout(() => {
					choose((rows.find(row => again && tree.labels[row.label].text === chosen) ?? rows[0]).label);
					list.scrollTop = above;
				});
			return [html('p', {}, `${Math.min(rows.length, 1000)} of ${rows.length} functions; a click shows callers and callees`),
				html('div', {class: 'split'}, list, shown)];
		}],
		threads: ['Threads', () => {
			const values = new Map();
			for (const node of whole.callees[0] ?? []) {
				const label = whole.labels[whole.label[node]];
				if (label.kind === 't')
					values.set(label, whole.total[node]);
			}
			const rows = [...values].sort((a, b) => b[1] - a[1]).slice(0, 1000).map(([label, value]) => {
				const line = html('tr', {'data-tid': label.tid}, ...cells(flameValue(value, whole.unit), flameShare(value, whole.total[0]),
					label.tid ? `${label.pid}/${label.tid}` : '', label.text, data.commands[label.pid] ?? ''));
				line.addEventListener('click', () => {
					filter.value = label.tid ? 't' + label.tid : '';
					shownView = 'graph';
					choose();
				});
				return line;
			});
			return [html('p', {}, `${rows.length} of ${values.size} threads; a click shows only that thread`),
				table([unit(), 'share', 'process/thread', 'name', 'command'], rows)];
		}],
	};
	// Above the line who calls it, below what it calls.
	const butterfly = label => {
		const about = html('div', {class: 'about'});
		return [about, ...[['Callers', callersOf, true], ['Callees', calleesOf, false]].flatMap(([title, of, rootBelow]) => {
			const host = element(SVG, 'svg', {});
			const part = new Flame(host, {rootBelow, ondraw: resized(() => part)});
			part.tree = of(tree, label);
			part.width = Math.max(280, (document.querySelector('.split > :last-child')?.clientWidth || 600) - 4);
			part.onselect = node => { about.textContent = part.describe(node); };
			part.show(part.tree);
			part.zoom(1);
			window.butterfly = {...window.butterfly, [title.toLowerCase()]: part};
			return rootBelow ? [html('h2', {}, title), host] : [host, html('h2', {}, title)];
		})];
	};

	const place = html('main', {}), tabs = html('nav', {});
	let shownView = 'graph';
	// again: the same view of other values
	const show = (name, again = false) => {
		shownView = name;
		for (const button of tabs.querySelectorAll('button'))
			button.setAttribute('aria-pressed', button.dataset.view === name);
		const made = views[name][1](again);
		if (made)
			place.replaceChildren(...made);
		views[name][2]?.(again);
	};
	const choose = (again = false) => {
		const only = filter.value;
		tree = regrouped(whole, groups[group.value][1], label =>
			!only || (only[0] === 'p' ? label.pid === +only.slice(1) : label.tid === +only.slice(1)));
		reversed = null;
		show(shownView, again);
	};
	for (const [name, [title]] of Object.entries(views)) {
		const button = html('button', {type: 'button', 'data-view': name}, title);
		button.addEventListener('click', () => show(name));
		tabs.append(button);
	}
	tabs.append(group, filter);
	group.addEventListener('change', () => choose());
	filter.addEventListener('change', () => choose());
	let fromLeaf = false;
	const controls = flameControls(flame, [['Bottom-up', 'u', () => {
		if (shownView !== 'graph')
			return;
		fromLeaf = !fromLeaf;
		showGraph();
	}]]);
	const turn = [...controls.querySelectorAll('button')].find(button => button.textContent === 'Bottom-up');
	take(data, whole);
	document.body.append(head, legend, tabs, place);
	choose();
	window.addEventListener('resize', () => { if (shownView === 'graph') { fit(); flame.draw(); } });
	window.flame = flame;
	window.page = {choose, show, group, filter, tree: () => tree, functionsOf};
	return {head, update: (data, whole) => {
		take(data, whole);
		choose(true);
	}};
}
