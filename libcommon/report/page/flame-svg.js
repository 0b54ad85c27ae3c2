// SPDX-License-Identifier: GPL-2.0-or-later
// The script of an SVG picture: draws the frames again, as wide as the window is, and lets them be clicked and searched.
'use strict';

(() => {
	const picture = document.documentElement, frames = document.getElementById('frames');
	const tree = FlameTree.of(JSON.parse(document.getElementById('data').textContent));
	const top = +frames.getAttribute('transform').match(/[\d.]+/g)[1], left = 10, below = 20;
	const flame = new Flame(frames, {ondraw: height => {
		picture.setAttribute('width', flame.width + 2 * left);
		picture.setAttribute('height', top + height + below);
	}});
	flame.tree = tree;
	const hint = document.getElementById('hint');
	const place = element(SVG, 'foreignObject', {x: left, y: hint.getAttribute('y') - 15, height: 54}, flameControls(flame));
	hint.replaceWith(place);
	const fit = () => {
		flame.width = Math.max(400, window.innerWidth - 2 * left);
		place.setAttribute('width', flame.width);
		flame.draw();
	};
	picture.removeAttribute('viewBox');
	flame.show(tree);
	fit();
	flame.fitInto(window.innerHeight - top);
	flame.onselect(0);
	window.addEventListener('resize', fit);
	window.flame = flame;
})();
