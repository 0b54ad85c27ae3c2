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

// Estimates: a call of a function lasts while consecutive moments of a thread have it on their stacks, as far as these are
// known: what ran too short to be sampled does not end it.
function functionTable(timeline, from, to) {
	const rows = new Map();
	const close = (row, open) => { row.calls.push(open.ns); };
	for (const life of timeline.lives) {
		const open = new Map();
		let hole = 0;
		life.slices(from, to, (begin, end, state, key) => {
			if (!key && state === RUNNING) {
				hole += end - begin;
				return;
			}
			const stack = timeline.stacks[key] ?? [], seen = new Set(stack);
			for (const label of seen) {
				if (timeline.kinds[label] === 't')
					continue;
				const row = rows.get(label) ?? {label, total: 0, self: 0, states: [0, 0, 0, 0], calls: []};
				rows.set(label, row);
				row.total += end - begin;
				row.states[state] += end - begin;
				const call = open.get(label);
				if (call && begin - call.to < hole + 1) {
					call.ns += end - begin;
					call.to = end;
				} else {
					if (call)
						close(row, call);
					open.set(label, {ns: end - begin, to: end});
				}
			}
			if (stack.length && rows.has(stack[stack.length - 1]))
				rows.get(stack[stack.length - 1]).self += end - begin;
			hole = 0;
		});
		open.forEach((call, label) => close(rows.get(label), call));
	}
	return [...rows.values()].map(row => {
		const calls = row.calls.sort((a, b) => a - b), rank = share => calls[Math.min(calls.length - 1, Math.floor(share * calls.length))];
		return {name: timeline.labels[row.label], calls: calls.length, total: row.total, self: row.self, running: row.states[RUNNING],
			waiting: row.states[WAITING], blocked: row.states[BLOCKED], max: calls[calls.length - 1], p75: rank(0.75),
			average: row.total / calls.length, p50: rank(0.5), p25: rank(0.25), min: calls[0]};
	});
}

function flameTree(timeline, from, to) {
	const labels = timeline.labels.map((text, i) => ({text, kind: timeline.kinds[i], pid: 0, tid: 0})), states = new Map();
	const tree = new FlameTree(labels, 'ns');
	const stateLabel = name => {
		if (!states.has(name))
			states.set(name, labels.push({text: name, kind: 'x', pid: 0, tid: 0}) - 1);
		return states.get(name);
	};
	for (const life of timeline.lives)
		life.slices(from, to, (begin, end, state, key) => {
			let node = 0;
			for (const label of timeline.stacks[key] ?? [])
				node = tree.callee(node, label);
			const why = state === BLOCKED ? ' ' + timeline.why[key] : '';
			node = tree.callee(node, stateLabel(`[${STATES[state]}${why}]`));
			tree.self[node] += end - begin;
		});
	return tree.finish();
}

class Page {
	constructor(timeline) {
		this.timeline = timeline;
		this.lanes = new Lanes(document.querySelector('#lanes canvas'), timeline);
		this.about = document.querySelector('#about');
		this.sort = 'total';
		const svg = document.querySelector('#flame'), frames = element(SVG, 'g');
		svg.append(frames);
		this.flame = new Flame(frames, {rootBelow: false, ondraw: height => svg.setAttribute('height', height),
			onselect: node => { document.querySelector('#frame').textContent = this.flame.describe(node); }});
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
			else if (event.ctrlKey || canvas.parentNode.scrollHeight <= canvas.parentNode.clientHeight + 1)
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
		window.addEventListener('resize', () => lanes.draw());
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
		};
		if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key] || (event.target === field && event.key !== 'Escape'))
			return;
		event.preventDefault();
		field.blur();
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
		return `${life.comm} (${life.pid}/${life.tid}): ${STATES[state]}${why} for ${flameValue(life.start[i + 1] - life.start[i], 'ns')} from ${
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
		this.lanes.matches = found && new Set(this.timeline.stacks.flatMap((stack, key) => stack.some(label => found.has(label)) ? [key] : []));
		const ns = this.flame.search(text);
		document.querySelector('#found').textContent = text ? `${flameValue(ns, 'ns')}, ${flameShare(ns, this.flame.tree.total[0])}` : '';
		this.lanes.draw();
	}

	select(from, to) {
		this.range = {from, to};
		document.querySelector('#range').textContent = `${flameValue(from, 'ns')} to ${flameValue(to, 'ns')}`;
		this.flame.width = Math.max(600, document.body.clientWidth - 20);
		this.flame.show(flameTree(this.timeline, from, to));
		this.rows = functionTable(this.timeline, from, to);
		this.putTable();
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
