// SPDX-License-Identifier: GPL-2.0-or-later
// The page around the timeline: mouse and keys, what is picked, and of a range, the flame graph and the function table.
'use strict';

const html = (name, attributes, ...children) => element(XHTML, name, attributes, ...children);

// the frames of a key's stack as list items, leaf first
function frameList(timeline, key) {
	const list = html('ol');
	for (const label of [...(timeline.stacks[key] ?? [])].reverse())
		list.append(html('li', {}, timeline.labels[label]));
	return list;
}

// The lengths of calls: of more than MOST, every other one is dropped, then every other one of those that come, and so on.
const MOST = 1 << 18;
class Calls {
	constructor() {
		Object.assign(this, {nr: 0, min: Infinity, max: 0, kept: [], step: 1});
	}

	add(ns) {
		if (this.nr++ % this.step === 0)
			this.kept.push(ns);
		this.min = Math.min(this.min, ns);
		this.max = Math.max(this.max, ns);
		if (this.kept.length > MOST) {
			this.kept = this.kept.filter((_, i) => i % 2 === 0);
			this.step *= 2;
		}
	}

	// p25, p50, p75
	quartiles() {
		const sorted = Float64Array.from(this.kept).sort();
		return [0.25, 0.5, 0.75].map(share => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
	}
}

// Estimates: a call of a function lasts while consecutive moments of a thread have it on their stacks. What ran too short to be
// sampled does not end a call of a function of the program. It ends those of the kernel's, most of which wait once and return.
class FunctionTable {
	constructor(timeline) {
		const nr = timeline.labels.length;
		this.timeline = timeline;
		this.functions = timeline.stacks.map(stack => Int32Array.from(new Set(stack.filter(label => timeline.kinds[label] !== 't'))));
		this.inKernel = timeline.kinds.map(kind => kind === 'k');
		this.leaf = timeline.stacks.map(stack => stack.length ? stack[stack.length - 1] : -1);
		this.states = new Float64Array(nr * 4);
		this.self = new Float64Array(nr);
		this.calls = timeline.labels.map(() => new Calls());
		this.openNs = new Float64Array(nr);	// 0: none is open
		this.openTo = new Float64Array(nr);
	}

	add(life, from, to) {
		let hole = 0;
		this.openNs.fill(0);
		life.slices(from, to, (begin, end, state, key) => {
			const ns = end - begin;
			if (state !== RUNNING && this.timeline.idle.has(key))
				return;
			if (!key && state === RUNNING) {
				hole += ns;
				return;
			}
			for (const label of this.functions[key] ?? []) {
				this.states[label * 4 + state] += ns;
				if (this.openNs[label] && begin - this.openTo[label] >= (this.inKernel[label] ? 1 : hole + 1)) {
					this.calls[label].add(this.openNs[label]);
					this.openNs[label] = 0;
				}
				this.openNs[label] += ns;
				this.openTo[label] = end;
			}
			if (this.leaf[key] >= 0)
				this.self[this.leaf[key]] += ns;
			hole = 0;
		});
		this.openNs.forEach((ns, label) => { if (ns) this.calls[label].add(ns); });
	}

	rows() {
		return this.calls.flatMap((calls, label) => {
			if (!calls.nr)
				return [];
			const [running, waiting, blocked, lost] = this.states.subarray(label * 4, label * 4 + 4);
			const total = running + waiting + blocked + lost, [p25, p50, p75] = calls.quartiles();
			return [{name: this.timeline.labels[label], calls: calls.nr, total, self: this.self[label], running, waiting, blocked,
				max: calls.max, p75, average: total / calls.nr, p50, p25, min: calls.min}];
		});
	}
}

// The wall-clock time of each key and state but idle waits, and the flame graph that they make.
class Sums {
	constructor(timeline) {
		this.timeline = timeline;
		this.ns = new Float64Array(timeline.stacks.length * 4);
	}

	add(life, from, to) {
		life.slices(from, to, (begin, end, state, key) => {
			if (state === RUNNING || !this.timeline.idle.has(key))
				this.ns[key * 4 + state] += end - begin;
		});
	}

	tree() {
		const timeline = this.timeline, states = new Map();
		const labels = timeline.labels.map((text, i) => ({text, kind: timeline.kinds[i], pid: 0, tid: 0})), tree = new FlameTree(labels, 'ns');
		const stateLabel = name => {
			if (!states.has(name))
				states.set(name, labels.push({text: name, kind: 'x', pid: 0, tid: 0}) - 1);
			return states.get(name);
		};
		this.ns.forEach((ns, i) => {
			if (!ns)
				return;
			const key = i >> 2, state = i & 3, why = state === BLOCKED ? ' ' + timeline.why[key] : '';
			let node = 0;
			for (const label of timeline.stacks[key] ?? [])
				node = tree.callee(node, label);
			tree.self[tree.callee(node, stateLabel(`[${STATES[state]}${why}]`))] += ns;
		});
		return tree.finish();
	}
}

// Whose lanes are shown, in which order, and who of them is chosen: all sums are of these.
class Threads {
	constructor(timeline, lanes, onchange) {
		const by = id => document.getElementById(id);
		Object.assign(this, {timeline, lanes, onchange, host: by('labels'), filter: by('threads'), active: by('active'), hide: by('hide')});
		this.off = new Set();	// lives whose boxes are not ticked
		const slept = timeline.lives.filter(life => life.slept).length;
		by('slept').textContent = slept;
		this.hide.disabled = !slept;
		for (const [field, event] of [[this.filter, 'input'], [this.active, 'change'], [this.hide, 'change']])
			field.addEventListener(event, () => this.change());
		by('everyone').addEventListener('click', () => this.reset());
		this.place();
	}

	// each process: its lives that are to be shown
	processes() {
		const found = new Map(), pattern = this.filter.value && patternOf(this.filter.value), most = lives => Math.max(...lives.map(active));
		const active = lane => this.timeline.lives[lane].active;
		this.timeline.lives.forEach((life, lane) => {
			if (this.hide.checked && life.slept || pattern && !pattern.test(`${life.comm} (${life.pid}/${life.tid}) ${life.command}`))
				return;
			if (!found.has(life.pid))
				found.set(life.pid, []);
			found.get(life.pid).push(lane);
		});
		const all = [...found.values()];
		if (this.active.checked) {
			all.forEach(lives => lives.sort((a, b) => active(b) - active(a) || a - b));
			all.sort((a, b) => most(b) - most(a) || a[0] - b[0]);
		}
		return all;
	}

	place() {
		// a process of several threads has a row, too
		this.lanes.place(this.processes().flatMap(lives => lives.length > 1 ? [{lives}, ...lives] : lives));
		this.host.replaceChildren(...this.lanes.rows.map(row => this.label(row)));
		this.tick();
	}

	label(row) {
		const lives = row.lives ?? [row], life = this.timeline.lives[row.lives ? this.mainOf(lives) : row];
		const text = row.lives ? `${life.comm} (${life.pid}) × ${lives.length}` : `${life.comm} (${life.tid})`;
		const box = html('input', {type: 'checkbox', 'aria-label': text}), name = html('button', {type: 'button', title:
			`${text}${life.command ? ': ' + life.command : ''}\nclick: only this ${row.lives ? 'process' : 'thread'}; once more: all`}, text);
		box.addEventListener('change', () => this.choose(lives, box.checked));
		name.addEventListener('click', () => this.only(lives));
		return html('div', {class: row.lives ? 'process' : ''}, box, name);
	}

	// the main thread, or the first one
	mainOf(lives) {
		return lives.find(lane => this.timeline.lives[lane].pid === this.timeline.lives[lane].tid) ?? lives[0];
	}

	chosen() {
		return this.lanes.rows.filter(row => !row.lives && !this.off.has(row));
	}

	choose(lives, on) {
		for (const lane of lives)
			on ? this.off.delete(lane) : this.off.add(lane);
		this.change(false);
	}

	only(lives) {
		const chosen = this.chosen(), again = chosen.length === lives.length && lives.every(lane => chosen.includes(lane));
		this.off = again ? new Set() : new Set(this.timeline.lives.keys());
		this.choose(lives, true);
	}

	reset() {
		this.filter.value = '';
		this.hide.checked = this.active.checked = false;
		this.off.clear();
		this.change();
	}

	tick() {
		this.lanes.chosen = new Set(this.chosen());
		this.lanes.rows.forEach((row, i) => {
			const box = this.host.children[i].firstChild, lives = row.lives ?? [row], on = lives.filter(lane => !this.off.has(lane)).length;
			box.checked = on === lives.length;
			box.indeterminate = on > 0 && !box.checked;
		});
	}

	change(moved = true) {
		moved ? this.place() : this.tick();
		this.lanes.draw();
		this.onchange();
	}

	// "all 5 threads", "2 of 5 threads: a (1/2), b (1/3)"
	describe() {
		const nr = this.timeline.lives.length, chosen = this.chosen();
		if (chosen.length === nr)
			return `all ${nr} threads`;
		const names = chosen.slice(0, 3).map(lane => this.timeline.lives[lane]).map(life => `${life.comm} (${life.pid}/${life.tid})`);
		return `${chosen.length} of ${nr} threads${names.length ? ': ' + names.join(', ') : ''}${chosen.length > 3 ? ', …' : ''}`;
	}
}

class Page {
	constructor(timeline) {
		this.timeline = timeline;
		this.lanes = new Lanes(document.querySelector('#lanes'), timeline);
		this.about = document.querySelector('#about');
		this.sort = 'total';
		this.rows = [];
		const svg = document.querySelector('#flame'), frames = element(SVG, 'g');
		svg.append(frames);
		this.flame = new Flame(frames, {rootBelow: false, ondraw: height => svg.setAttribute('height', height),
			onselect: node => { document.querySelector('#frame').textContent = this.flame.describe(node); }});
		this.threads = new Threads(timeline, this.lanes, () => this.select(this.range.from, this.range.to));
		this.fromLeaf = false;
		this.listen();
		this.lanes.draw();
		this.select(0, timeline.duration);
	}

	listen() {
		const canvas = this.lanes.canvas, lanes = this.lanes, field = document.querySelector('#search');
		let down = null;
		canvas.addEventListener('wheel', event => {
			if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
				lanes.show(lanes.from + (event.deltaX || event.deltaY) / 1000 * (lanes.to - lanes.from), lanes.to + (event.deltaX || event.deltaY) / 1000 * (lanes.to - lanes.from));
			else if (event.ctrlKey || lanes.box.scrollHeight <= lanes.box.clientHeight + 1)
				lanes.zoom(event.deltaY > 0 ? 1.25 : 0.8, lanes.time(event.offsetX));
			else
				return;
			event.preventDefault();
		}, {passive: false});
		canvas.addEventListener('pointerdown', event => {
			down = {x: event.offsetX, y: event.offsetY, from: lanes.from, to: lanes.to, pan: event.shiftKey};
		});
		canvas.addEventListener('pointermove', event => {
			if (down?.pan)
				lanes.show(down.from + lanes.time(down.x) - lanes.time(event.offsetX), down.to + lanes.time(down.x) - lanes.time(event.offsetX));
			else if (down && Math.abs(event.offsetX - down.x) > 3) {
				const ends = [lanes.time(down.x), lanes.time(event.offsetX)].sort((a, b) => a - b);
				lanes.selected = {from: ends[0], to: ends[1]};
				lanes.draw();
			} else
				this.hover(event.offsetX, event.offsetY);
		});
		window.addEventListener('pointerup', event => {
			if (!down)
				return;
			if (event.target === canvas && Math.abs(event.offsetX - down.x) <= 3)
				this.pick(lanes.lane(event.offsetY), lanes.time(event.offsetX));
			else if (!down.pan && lanes.selected)
				this.select(lanes.selected.from, lanes.selected.to);
			down = null;
		});
		field.addEventListener('input', () => this.search(field.value));
		document.querySelector('#reset').addEventListener('click', () => this.reset());
		document.querySelector('#turn').addEventListener('click', () => this.turnFlame());
		window.addEventListener('resize', () => lanes.draw());
		lanes.box.addEventListener('scroll', () => lanes.draw());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => lanes.draw());
		document.addEventListener('keydown', event => this.key(event, field));
	}

	key(event, field) {
		const lanes = this.lanes, step = (lanes.to - lanes.from) / 5;
		const keys = {
			ArrowLeft: () => lanes.show(lanes.from - step, lanes.to - step), ArrowRight: () => lanes.show(lanes.from + step, lanes.to + step),
			a: () => lanes.show(lanes.from - step, lanes.to - step), d: () => lanes.show(lanes.from + step, lanes.to + step),
			'+': () => lanes.zoom(0.5), '-': () => lanes.zoom(2), w: () => lanes.zoom(0.5), s: () => lanes.zoom(2),
			'0': () => this.reset(), '/': () => field.focus(), n: () => this.next(1), p: () => this.next(-1),
			Enter: () => lanes.selected && lanes.show(lanes.selected.from, lanes.selected.to), Escape: () => this.reset(),
			t: () => this.threads.filter.focus(), u: () => this.turnFlame(),
		};
		if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key])
			return;
		// Escape leaves a field, Enter presses a button
		if (event.target.matches?.('input[type=search]') ? event.key !== 'Escape' : event.target.matches?.('button') && event.key === 'Enter')
			return;
		event.preventDefault();
		if (event.target.matches?.('input[type=search]'))
			return event.target.blur();
		keys[event.key]();
	}

	reset() {
		this.lanes.selected = this.lanes.picked = null;
		this.about.replaceChildren();
		this.lanes.show(0, this.timeline.duration);
		this.select(0, this.timeline.duration);
	}

	// what there is to say of a moment of a lane, as text; '': nothing
	describe(lane, time) {
		const life = this.timeline.lives[lane];
		if (!life || time < life.from || time >= life.start[life.nr])
			return '';
		const i = life.at(time), state = life.state[i], why = state === BLOCKED ? ' ' + this.timeline.why[life.key[i]] : '';
		return `${life.comm} (${life.pid}/${life.tid}${life.command ? ', ' + life.command : ''}): ${STATES[state]}${why} for ${flameValue(life.start[i + 1] - life.start[i], 'ns')} from ${
			flameValue(life.start[i], 'ns')} on` + (state === LOST ? `: ${life.more[i]} periods` : '');
	}

	hover(x, y) {
		document.querySelector('#hover').textContent = this.describe(this.lanes.lane(y), this.lanes.time(x));
	}

	pick(lane, time) {
		const text = this.describe(lane, time);
		if (!text)
			return;
		const timeline = this.timeline, life = timeline.lives[lane], i = life.at(time);
		const key = life.state[i] === RUNNING ? life.sampleAt(time) : life.key[i];
		this.lanes.picked = {lane, time};
		this.about.replaceChildren(html('section', {id: 'picked'}, html('h2', {}, text), frameList(timeline, key)));
		if (life.state[i] === BLOCKED && life.waker[i])
			this.about.append(html('section', {id: 'waker'}, html('h2', {}, 'woken by ' + timeline.names[life.waker[i]]),
				frameList(timeline, life.waker[i])));
		this.lanes.draw();
	}

	// the next interval of the picked lane, or the one before it (step -1)
	next(step) {
		const picked = this.lanes.picked, life = picked && this.timeline.lives[picked.lane], i = life ? life.at(picked.time) + step : -1;
		if (!life || i < 0 || i >= life.nr)
			return;
		const at = (life.start[i] + life.start[i + 1]) / 2, half = (this.lanes.to - this.lanes.from) / 2;
		this.pick(picked.lane, at);
		if (at < this.lanes.from || at > this.lanes.to)
			this.lanes.show(at - half, at + half);
	}

	search(text) {
		const found = text ? this.flame.tree.search(text) : null;
		this.lanes.search(found && new Set(this.timeline.stacks.flatMap((stack, key) => stack.some(label => found.has(label)) ? [key] : [])));
		this.flame.search(text);
		this.tellFound();
		this.lanes.draw();
	}

	// A timeline with very many intervals is summed up piece by piece, and the page can be used meanwhile.
	select(from, to) {
		const sums = new Sums(this.timeline), table = new FunctionTable(this.timeline);
		const lives = this.threads.chosen().map(lane => this.timeline.lives[lane]);
		const many = lives.reduce((nr, life) => nr + life.nr, 0) > 1e6, turn = this.turn = {};
		const next = i => {
			if (turn !== this.turn)
				return;		// another range was selected meanwhile
			for (; i < lives.length; i++) {
				sums.add(lives[i], from, to);
				table.add(lives[i], from, to);
				if (many)
					return setTimeout(next, 0, i + 1);
			}
			this.flame.width = Math.max(600, document.body.clientWidth - 20);
			this.tree = sums.tree();
			this.showFlame();
			this.rows = table.rows();
			this.putTable();
			document.body.dataset.summed = 'yes';
		};
		this.range = {from, to};
		document.querySelector('#whose').textContent = this.threads.describe();
		document.querySelector('#range').textContent = `${flameValue(from, 'ns')} to ${flameValue(to, 'ns')}`;
		delete document.body.dataset.summed;
		next(0);
	}

	showFlame() {
		this.flame.show(this.fromLeaf ? this.tree.bottomUp() : this.tree);
		this.tellFound();
	}

	turnFlame() {
		this.fromLeaf = !this.fromLeaf;
		document.querySelector('#turn').setAttribute('aria-pressed', this.fromLeaf);
		this.showFlame();
	}

	tellFound() {
		const {found, tree} = this.flame;
		document.querySelector('#found').textContent = found ?
			`${flameValue(tree.matched(found, 0), 'ns')}, ${flameShare(tree.matched(found, 0), tree.total[0])}` : '';
	}

	putTable() {
		const columns = ['name', 'calls', 'total', 'self', 'running', 'waiting', 'blocked', 'max', 'p75', 'average', 'p50', 'p25', 'min'];
		const head = html('tr');
		for (const column of columns) {
			const cell = html('th', {}, column === this.sort ? column + ' ▾' : column);
			cell.addEventListener('click', () => { this.sort = column; this.putTable(); });
			head.append(cell);
		}
		const rows = this.rows.sort((a, b) => this.sort === 'name' ? (a.name < b.name ? -1 : 1) : b[this.sort] - a[this.sort]);
		document.querySelector('#functions').replaceChildren(head, ...rows.slice(0, 200).map(row => html('tr', {}, ...columns.map(column =>
			html('td', {title: String(row[column])}, column === 'name' || column === 'calls' ? String(row[column]) : flameValue(Math.round(row[column]), 'ns'))))));
	}
}

const about = JSON.parse(document.getElementById('data').textContent);
Timeline.of(about, document.getElementById('lives').textContent.trim()).then(timeline => {
	window.page = new Page(timeline);
	document.body.dataset.ready = 'yes';
});
