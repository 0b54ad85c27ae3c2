// SPDX-License-Identifier: GPL-2.0-or-later
// Flame graphs: a tree of merged stacks (FlameTree), its drawing as SVG (Flame), and the controls of one (flameControls).
// Names come from measured programs: they are only ever set as textContent.
'use strict';

const SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';

// The letters of report/labels.h's frame kinds.
const FRAME_KINDS = {
	t: 'thread', u: 'user', f: 'user, by frame pointer', j: 'JIT', r: 'Python, Java', i: 'inlined', k: 'kernel', o: 'kernel, off the CPU',
	x: 'left out or too narrow',
};

function element(space, name, attributes, ...children) {
	const made = document.createElementNS(space, name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	made.append(...children);
	return made;
}

// A value as people read it: a time if the unit is ns.
function flameValue(value, unit) {
	if (unit !== 'ns')
		return value.toLocaleString('en-US') + ' ' + unit;
	for (const [ns, name] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']])
		if (Math.abs(value) >= ns)
			return (value / ns).toPrecision(4) + ' ' + name;
	return value + ' ns';
}

function flameShare(part, whole) {
	return whole ? (100 * part / whole).toFixed(2) + ' %' : '0 %';
}

// What is searched for: a regular expression, or the text itself if it is none
function patternOf(text) {
	try {
		return new RegExp(text, 'i');
	} catch {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
	}
}

// Merged stacks. Node 0 is the root; a node's parent has a lower number. labels: [{text, kind, pid, tid}]
class FlameTree {
	constructor(labels, unit) {
		this.labels = labels;
		this.unit = unit;
		this.parent = [0];
		this.label = [-1];
		this.self = [0];
		this.before = [0];
		this.compared = false;
		this.index = new Map();
	}

	// The tree of a page's data, as report/flame_page.c writes it.
	static of(data) {
		const labels = data.labels.map((text, i) => ({text, kind: data.kinds[i], pid: 0, tid: 0}));
		for (const [i, pid, tid] of data.threads)
			Object.assign(labels[i], {pid, tid});
		const tree = new FlameTree(labels, data.unit);
		const step = data.compared ? 4 : 3;
		for (let i = 0; i < data.nodes.length; i += step) {
			tree.parent.push(data.nodes[i]);
			tree.label.push(data.nodes[i + 1]);
			tree.self.push(data.nodes[i + 2]);
			tree.before.push(data.compared ? data.nodes[i + 3] : 0);
		}
		tree.compared = data.compared;
		return tree.finish();
	}

	// The callee of a node, which is added if there is none. Only before finish().
	callee(parent, label) {
		const key = parent * 0x4000000 + label;
		let node = this.index.get(key);
		if (node === undefined) {
			node = this.parent.length;
			this.index.set(key, node);
			this.parent.push(parent);
			this.label.push(label);
			this.self.push(0);
			this.before.push(0);
		}
		return node;
	}

	// Sums up, and sorts the callees of each node by value.
	finish() {
		const nr = this.parent.length;
		this.index = null;
		this.total = Float64Array.from(this.self);
		this.totalBefore = Float64Array.from(this.before);
		this.depth = new Uint32Array(nr);
		this.callees = new Array(nr);
		for (let i = nr - 1; i > 0; i--) {
			this.total[this.parent[i]] += this.total[i];
			this.totalBefore[this.parent[i]] += this.totalBefore[i];
		}
		for (let i = 1; i < nr; i++) {
			const parent = this.parent[i];
			this.depth[i] = this.depth[parent] + 1;
			(this.callees[parent] ??= []).push(i);
		}
		const size = i => Math.max(this.total[i], this.totalBefore[i]);
		for (const list of this.callees)
			list?.sort((a, b) => size(b) - size(a) || a - b);
		return this;
	}

	// The same stacks merged from the leaf on: a node's callees are its callers. Of so many that a page cannot hold them, the
	// smallest are without callers.
	bottomUp() {
		const made = new FlameTree(this.labels, this.unit), size = node => Math.max(this.self[node], this.before[node]);
		made.compared = this.compared;
		const leaves = [...this.self.keys()].filter(node => size(node)).sort((a, b) => size(b) - size(a) || a - b);
		for (const leaf of leaves) {
			let to = 0;
			for (let node = leaf; node && (node === leaf || made.parent.length < FlameTree.MOST); node = this.parent[node])
				to = made.callee(to, this.label[node]);
			made.self[to] += this.self[leaf];
			made.before[to] += this.before[leaf];
		}
		return made.finish();
	}

	name(node) {
		if (!node)
			return 'all';
		const label = this.labels[this.label[node]];
		return label.tid ? `${label.text} (${label.pid}/${label.tid})` : label.text;
	}

	kind(node) {
		return node ? this.labels[this.label[node]].kind : 't';
	}

	path(node) {
		const path = [];
		for (; node; node = this.parent[node])
			path.unshift(node);
		return path;
	}

	// The labels' numbers that match the text, as a regular expression if it is one; null: no text
	search(text) {
		if (!text)
			return null;
		const pattern = patternOf(text);
		const found = new Set();
		this.labels.forEach((label, i) => { if (pattern.test(label.text)) found.add(i); });
		return found;
	}

	// The value of all stacks below `from` that have a frame with one of these labels, each counted once.
	matched(found, from) {
		let sum = 0;
		const waiting = [from];
		while (waiting.length) {
			const node = waiting.pop();
			if (found.has(this.label[node]))
				sum += this.total[node];
			else
				for (const callee of this.callees[node] ?? [])
					waiting.push(callee);
		}
		return sum;
	}
}

FlameTree.MOST = 1000000;	// nodes of a tree from the leaf on

// Draws a tree into an SVG element, whose frames can be clicked.
class Flame {
	constructor(host, {rootBelow = true, onselect = () => {}, ondraw = () => {}} = {}) {
		this.host = host;
		this.rootBelow = rootBelow;
		this.onselect = onselect;
		this.ondraw = ondraw;
		this.width = 1180;
		this.least = 0.5;	// px; narrower frames are drawn as one
		this.useBefore = false;
		this.text = '';		// what is searched for
		this.onshow = () => {};
		host.classList.add('flame');
		const at = event => event.target.closest?.('g[data-node]');
		const node = event => at(event) ? +at(event).dataset.node : null;
		host.addEventListener('mouseover', event => {
			if (node(event) !== null)
				this.onselect(node(event));
		});
		host.addEventListener('click', event => {
			if (node(event) !== null) {
				this.select(node(event));
				this.zoom(node(event));
			}
		});
	}

	show(tree) {
		this.tree = tree;
		this.host.classList.toggle('compared', tree.compared);
		this.zoomed = this.selected = this.allRows = 0;
		this.found = tree.search(this.text);
		this.draw();
		this.onshow();
	}

	// Shows other values: what is zoomed into and selected stays so, as far as it is there.
	update(tree) {
		const names = node => this.tree.path(node).map(step => this.tree.name(step));
		const [zoomed, selected] = [this.zoomed, this.selected].map(names);
		const find = path => {
			let node = 0;
			for (const name of path) {
				const next = tree.callees[node]?.find(callee => tree.name(callee) === name);
				if (next === undefined)
					return node;
				node = next;
			}
			return node;
		};
		this.tree = tree;
		this.host.classList.toggle('compared', tree.compared);
		this.zoomed = find(zoomed);
		this.selected = find(selected);
		this.allRows = 0;
		this.found = tree.search(this.text);
		this.draw();
		this.onshow();
	}

	// Puts the root above if the picture is higher than this, so that its beginning is seen.
	fitInto(height) {
		this.rootBelow = this.allRows * Flame.ROW <= height;
		this.draw();
	}

	zoom(node) {
		this.zoomed = node;
		this.draw();
	}

	select(node) {
		this.selected = node;
		for (const old of this.host.querySelectorAll('.selected'))
			old.classList.remove('selected');
		this.host.querySelector(`g[data-node="${node}"]`)?.classList.add('selected');
		this.onselect(node);
	}

	// Marks what matches; returns its value.
	search(text) {
		this.text = text;
		this.found = this.tree.search(text);
		this.draw();
		return this.found ? this.tree.matched(this.found, this.zoomed) : 0;
	}

	widthOf(node) {
		return (this.useBefore && this.tree.compared ? this.tree.totalBefore : this.tree.total)[node];
	}

	draw() {
		const rows = [], above = [0, ...this.tree.path(this.zoomed)].slice(0, -1);
		if (!this.zoomed)
			above.length = 0;
		above.forEach((node, row) => this.put(rows, row, node, 0, this.width, 'above'));
		this.lay(rows, this.zoomed, above.length);
		this.rows = rows.length;
		this.host.replaceChildren(...rows.flat());
		this.drawn = this.host.childElementCount;
		if (!this.zoomed)
			this.allRows = rows.length;	// zooming leaves the root where it is
		const height = Flame.ROW * Math.max(rows.length, this.allRows);
		const shift = this.rootBelow ? height - Flame.ROW : 0;
		rows.forEach((row, i) => row.forEach(frame => {
			const y = this.rootBelow ? shift - i * Flame.ROW : i * Flame.ROW;
			frame.setAttribute('transform', `translate(${frame.x} ${y})`);
		}));
		this.ondraw(height);
	}

	// From the zoomed node on, callers first. What is too narrow is drawn as one frame beside its siblings.
	lay(rows, top, row) {
		const waiting = [[top, 0, this.width, row]];
		while (waiting.length) {
			const [node, x, width, row] = waiting.pop();
			this.put(rows, row, node, x, width);
			const scale = this.widthOf(node) ? width / this.widthOf(node) : 0;
			let at = x, narrow = 0, narrowWidth = 0;
			for (const callee of this.tree.callees[node] ?? []) {
				const calleeWidth = this.widthOf(callee) * scale;
				if (calleeWidth < this.least) {
					narrow++;
					narrowWidth += calleeWidth;
				} else {
					waiting.push([callee, at, calleeWidth, row + 1]);
					at += calleeWidth;
				}
			}
			if (narrowWidth >= this.least)
				this.putNarrow(rows, row + 1, narrow, at, narrowWidth);
		}
	}

	put(rows, row, node, x, width, more = '') {
		const name = this.tree.name(node);
		const frame = this.box(name, x, width);
		const classes = [this.tree.kind(node), 's' + Flame.shade(name)];
		if (more)
			classes.push(more);
		if (this.found?.has(this.tree.label[node]))
			classes.push('match');
		if (node === this.selected && node)
			classes.push('selected');
		frame.setAttribute('class', classes.join(' '));
		frame.dataset.node = node;
		if (this.tree.compared && !classes.includes('match'))
			frame.firstChild.style.fill = this.difference(node);
		(rows[row] ??= []).push(frame);
	}

	putNarrow(rows, row, nr, x, width) {
		const frame = this.box(`${nr} functions`, x, width);
		frame.setAttribute('class', 'x');
		frame.append(element(SVG, 'title', {}, `${nr} functions too narrow to draw: zoom in to see them`));
		(rows[row] ??= []).push(frame);
	}

	box(name, x, width) {
		const frame = element(SVG, 'g', {}, element(SVG, 'rect', {width: Math.max(width, 0.1), height: Flame.ROW - 1}));
		const fits = Math.floor((width - 5) / Flame.CHARACTER);
		if (fits >= 3) {
			const text = name.length > fits ? name.slice(0, fits - 1) + '…' : name;
			frame.append(element(SVG, 'text', {x: 3, y: Flame.ROW - 5}, text));
		}
		frame.x = x;
		return frame;
	}

	// Red: more than before, blue: less; the deeper the larger its share of the whole is.
	difference(node) {
		const tree = this.tree, whole = Math.max(tree.total[0], tree.totalBefore[0]) || 1;
		const part = (tree.total[node] - tree.totalBefore[node]) / whole;
		const strength = Math.min(1, Math.sqrt(Math.abs(part)) * 1.6), to = part > 0 ? [226, 74, 51] : [59, 125, 221];
		return `rgb(${to.map(full => Math.round(205 + (full - 205) * strength)).join(' ')})`;
	}

	// What there is to say of a frame, as text.
	describe(node) {
		const tree = this.tree, value = tree.total[node], whole = tree.total[0];
		const kind = tree.compared || !node ? '' : ` [${FRAME_KINDS[tree.kind(node)]}]`;
		let text = `${tree.name(node)}${kind}: ${flameValue(value, tree.unit)}, ${flameShare(value, whole)}`;
		if (this.zoomed && this.zoomed !== node)
			text += `, ${flameShare(value, tree.total[this.zoomed])} of ${tree.name(this.zoomed)}`;
		if (tree.self[node])
			text += `, self ${flameValue(tree.self[node], tree.unit)}`;
		if (tree.compared) {
			const change = value - tree.totalBefore[node];
			text += `, before ${flameValue(tree.totalBefore[node], tree.unit)}, ` +
				`change ${change > 0 ? '+' : ''}${flameValue(change, tree.unit)}`;
		}
		return text;
	}

	// To the frame's caller, its first callee, or the sibling before or after it.
	move(where) {
		const tree = this.tree, node = this.selected;
		const siblings = tree.callees[tree.parent[node]] ?? [], at = siblings.indexOf(node);
		const to = {caller: tree.parent[node], callee: tree.callees[node]?.[0], before: siblings[at - 1],
			after: siblings[at + 1]}[where];
		if (to === undefined || (to === 0 && where !== 'caller'))
			return;
		if (!this.host.querySelector(`g[data-node="${to}"]`))
			this.zoom(tree.parent[to]);
		this.select(to);
	}

	// Selects the match after the selected frame, or before it (step -1).
	nextMatch(step) {
		if (!this.found?.size)
			return;
		for (let i = 1, nr = this.tree.parent.length; i < nr; i++) {
			const node = (this.selected + step * i + nr) % nr;
			if (node && this.found.has(this.tree.label[node])) {
				if (!this.host.querySelector(`g[data-node="${node}"]`))
					this.zoom(this.tree.parent[node]);
				this.select(node);
				return;
			}
		}
	}

	static shade(name) {
		let hash = 7;
		for (let i = 0; i < name.length; i++)
			hash = (hash * 31 + name.charCodeAt(i)) | 0;
		return Math.imul(hash, 0x9e3779b1) >>> 30;
	}
}
Flame.ROW = 17;
Flame.CHARACTER = 7.23;	// px: DejaVu Sans Mono at 12 px, the widest of the fonts in flame.css

// Buttons, a search field and a line that tells about the frame under the mouse: an XHTML element. Handles keys, too.
// more: the page's own buttons, [name, key, what it does]
function flameControls(flame, more = []) {
	const button = (name, keys, act) => {
		const made = element(XHTML, 'button', {type: 'button', title: `${name} (${keys})`}, name);
		made.addEventListener('click', act);
		return made;
	};
	const field = element(XHTML, 'input', {type: 'search', placeholder: 'Search (/)', 'aria-label': 'search', size: 24});
	const share = element(XHTML, 'output', {class: 'share'});
	const about = element(XHTML, 'div', {class: 'about', 'aria-live': 'polite'});
	const search = () => {
		const value = flame.search(field.value);
		const whole = flame.tree.total[flame.zoomed];
		share.textContent = field.value ?
			`matched ${flameShare(value, whole)}: ${flameValue(value, flame.tree.unit)}` : '';
	};
	const reset = () => {
		field.value = '';
		search();
		flame.select(0);
		flame.zoom(0);
	};
	const flip = () => {
		flame.rootBelow = !flame.rootBelow;
		flame.draw();
	};
	const swap = () => {
		flame.useBefore = !flame.useBefore;
		flame.draw();
		before.textContent = flame.useBefore ? 'Widths: before' : 'Widths: after';
	};
	const before = button('Widths: after', 'b', swap);
	const keys = {
		r: reset, i: flip, b: () => flame.tree.compared && swap(), '/': () => field.focus(),
		n: () => flame.nextMatch(1), N: () => flame.nextMatch(-1),
		ArrowUp: () => flame.move(flame.rootBelow ? 'callee' : 'caller'),
		ArrowDown: () => flame.move(flame.rootBelow ? 'caller' : 'callee'),
		ArrowLeft: () => flame.move('before'), ArrowRight: () => flame.move('after'),
		Enter: () => flame.zoom(flame.selected),
		Escape: () => field.value ? (field.value = '', search()) : reset(),
	};
	for (const [, key, act] of more)
		keys[key] = act;
	document.addEventListener('keydown', event => {
		if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key])
			return;
		if (event.target === field ? !['Escape', 'Enter'].includes(event.key) : event.target.matches?.('input, select, button'))
			return;
		if (event.target === field)
			field.blur();
		event.preventDefault();
		if (event.target !== field || event.key === 'Escape')
			keys[event.key]();
	});
	field.addEventListener('input', search);
	flame.onshow = () => {
		before.hidden = !flame.tree.compared;
		search();
	};
	flame.onselect = node => { about.textContent = flame.describe(node); };
	const row = element(XHTML, 'div', {class: 'controls'}, button('Reset', 'r', reset), button('Flip', 'i', flip),
		...more.map(([name, key, act]) => button(name, key, act)));
	row.append(before, field, share);
	return element(XHTML, 'div', {class: 'flame-controls'}, row, about);
}
